/** What the bundler adds for the compiler to know: style sheets that a component imports, and a constant. (core/build/bundle.mjs) */
declare module '*.css';

/** The address of the text worker, relative to the page's own script: `new URL(TEXT_WORKER, import.meta.url)`. */
declare const TEXT_WORKER: string;
