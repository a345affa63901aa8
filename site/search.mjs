/**
 * Questions are found, too: words that every question has don't count, and a word counts in all its forms.
 * The functions are sent to the browser as text, so each stands for itself.
 */
export function searching() {
  return {
    options: {
      processTerm: (term) => {
        const word = term.toLowerCase();
        const common =
          ' a after an and are as at be but by can do does each every for from get goes going had happen happens has have how i if in into is it its make many me much my new not of on one or our should so than that the their them then there they this times to use using was we what when where which while why will with without would you your ';
        if (common.includes(` ${word} `)) return null;
        if (word.length < 5) return word;
        return word
          .replace(/ie[sd]$/, 'y')
          .replace(/(ss|us|is)$/, '$1_')
          .replace(/(?:ing|ed|es|s)$/, '')
          .replace(/_$/, '')
          .replace(/(.{3,})ions?$/, '$1')
          .replace(/(.)\1$/, '$1')
          .replace(/(.{3,})e$/, '$1');
      },
    },
    searchOptions: {
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      prefix: (term) => term.length > 3,
      boost: { title: 4, text: 2, titles: 2 },
      // These are on each page.
      boostTerm: (term) => (/^(?:\d+|job|run|queue|worker|process)$/.test(term) ? 0.3 : 1),
      // What a name is comes after what to do with it, unless the name itself is asked for.
      boostDocument: (id) =>
        String(id).includes('/api/')
          ? 0.25
          : /\/protocol[/.]|\/jq-|\/systems\/|\/samples\//.test(String(id))
            ? 0.4
            : /\/understand\/|\/(?:options|errors)\./.test(String(id))
              ? 0.6
              : 1,
    },
  };
}
