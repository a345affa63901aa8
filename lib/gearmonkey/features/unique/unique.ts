import type { Feature } from '../../core/feature.js';
import { createUnique } from './create-unique.js';

/** Jobs with a key: while one of that key is there, a new one is not created. */
export const unique: Feature = { name: 'unique', create: createUnique };
