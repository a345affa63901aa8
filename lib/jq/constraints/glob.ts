/** Longer text matches no pattern: time grows with the product of both lengths, for any pattern. */
export const LONGEST_GLOBBED = 1024;

/** Whether the whole text matches a pattern in which `*` stands for any characters and `?` for one. */
export function matchesGlob(pattern: string, text: string): boolean {
  if (text.length > LONGEST_GLOBBED) return false;
  let [at, in_, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[in_] === '*') {
      star = in_;
      in_ += 1;
      resume = at;
    } else if (in_ < pattern.length && (pattern[in_] === '?' || pattern[in_] === text[at])) {
      in_ += 1;
      at += 1;
    } else if (star >= 0) {
      in_ = star + 1;
      resume += 1;
      at = resume;
    } else {
      return false;
    }
  }
  while (pattern[in_] === '*') in_ += 1;
  return in_ === pattern.length;
}
