/** Preact without the one place where it makes elements of a string: the property `dangerouslySetInnerHTML` has no effect in the bundle. */
import { readFile } from 'node:fs/promises';

/** Each pattern matches once; where one does not, Preact has changed, and somebody has to look at it again. */
const CUTS = [
  [/\b\w+\.__html==\w+\.innerHTML\b/, '!0'], // is it the same as before?
  [/\(\w+\.innerHTML=\w+\.__html\)/, '(0)'],
];

export const preactWithoutHtml = {
  name: 'preact-without-html',
  setup(build) {
    build.onLoad({ filter: /[\\/]node_modules[\\/]preact[\\/]dist[\\/]preact\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const [pattern, instead] of CUTS) {
        if (contents.match(new RegExp(pattern, 'g'))?.length !== 1)
          throw new Error(`Cannot bundle Preact: ${pattern} is not in it exactly once, so its HTML cannot be cut out`);
        contents = contents.replace(pattern, instead);
      }
      return { contents, loader: 'js' };
    });
  },
};
