/** The result of a test file, parsed from the output of uvu's reporter: its closing totals, and the count behind each suite's name. */

export type SuiteCount = { name: string; passed: number; total: number };

export type Report = {
  total: number;
  passed: number;
  skipped: number; // by `.skip`, or left out because of an `.only`
  suites: SuiteCount[]; // those with a name
  skips: string[]; // lines with the reason why something could not be tested here
  closed: boolean; // uvu came to its closing lines
};

/** @param output what the file's process wrote to stdout, colours or not */
export function readReport(output: string): Report {
  const text = output.replace(ANSI, '');
  return {
    total: sum(text, /^ {2}Total: +(\d+)$/gm),
    passed: sum(text, /^ {2}Passed: +(\d+)$/gm),
    skipped: sum(text, /^ {2}Skipped: +(\d+)$/gm),
    suites: [...text.matchAll(SUITE)].map(([, name = '', passed, total]) => ({
      name,
      passed: Number(passed),
      total: Number(total),
    })),
    skips: text.split('\n').flatMap((line) => /(?:^|[•✘] )(skip: .*)$/.exec(line)?.[1] ?? []),
    closed: /^ {2}Total: +\d+$/m.test(text),
  };
}

/** uvu swallows what a `before` hook throws and still exits 0, so whatever did not pass has failed. */
export const failures = ({ total, passed }: Report): number => total - passed;

const sum = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].reduce((all, [, n]) => all + Number(n), 0);

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with an escape character
const ANSI = /\u001b\[[0-9;]*m/g;

/** ` name  • • ✘   (2 / 3)`; between the marks is whatever the tests themselves printed, so the end may be lines away. */
const SUITE = /^ (\S.*?) {2}(?:(?!^ \S)[\s\S])*? {2}\((\d+) \/ (\d+)\)$/gm;
