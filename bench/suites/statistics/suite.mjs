import { optionsSuite } from '../../harness/options-suite.mjs';

export default optionsSuite('Statistics, beside none', {
  on: { title: 'statistics on', says: 'statistics: true', options: { statistics: true } },
  off: { title: 'statistics off', says: 'statistics: false', options: { statistics: false } },
});
