import type { Report } from './report.mjs';

export declare function toText(report: Report): string;
