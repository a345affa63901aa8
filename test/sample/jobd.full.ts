import { afterEach, describe, expect, it } from '@jest/globals';
import { SampleProcess, stopSamples } from './sample-process.js';

const SAID = `greet: ok, "Hello, row 1!"
shell: ok, process of row 2
run-manual: process of row 3
`;

describe('sample/05-jobd', () => {
  afterEach(stopSamples);

  it('runs rows by a handler, by processes and by hand, without a server', async () => {
    const sample = new SampleProcess(['05-jobd']);
    await expect(sample.result()).resolves.toEqual({ code: 0, output: SAID, errors: '' });
  });
});
