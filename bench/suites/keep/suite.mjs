import { optionsSuite } from '../../harness/options-suite.mjs';

export default optionsSuite('How long jobs are kept', {
  default: { title: '25 hours', says: 'no keep', options: {} },
  age: {
    title: '10 minutes',
    says: "keep: { success: { age: '10m' } }",
    options: { keep: { success: { age: '10m' } } },
  },
  count: {
    title: '1,000 jobs',
    says: 'keep: { success: { count: 1000 } }',
    options: { keep: { success: { count: 1000 } } },
  },
});
