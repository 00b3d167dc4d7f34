/** The one document of the browser UI. It holds no data: its script reads that from the API. */
import type { AssetManifest } from './assets.ts';

export type Shell = {
  manifest: AssetManifest;
  /** The prefix of a reverse proxy, as `/svc`; '': none. */
  basePath: string;
  version: string;
  /** The source of the page that the address leads to, below `client/`; it is loaded ahead, if it is a part of its own. */
  page: string | null;
  /** What of the API is loaded ahead of the script, as paths with their queries; none where a token is required, which only the script has. */
  ahead: readonly string[];
};

/** All that is put in is our own, or was checked: names of built files, the version, the prefix of the configuration, a UUID. */
export function shell({ manifest, basePath, version, page, ahead }: Shell): string {
  const { main, style, icon } = manifest;
  const scripts = [...manifest.preload, ...((page !== null && manifest.late[page]) || [])];
  const file = (name: string) => `${basePath}/ui/${name}`;
  return [
    '<!doctype html>',
    `<html lang="en" data-base="${basePath}" data-version="${version}">`,
    '<meta name="viewport" content="width=device-width">',
    '<meta name="color-scheme" content="light dark">',
    '<title>svc</title>',
    `<link rel="icon" href="${file(icon)}">`,
    ...(style === null ? [] : [`<link rel="stylesheet" href="${file(style)}">`]),
    // before the scripts, which would take all connections that the browser opens: it takes longest to be answered
    ...ahead.map((path) => `<link rel="preload" as="fetch" href="${basePath}${path}" crossorigin>`),
    ...scripts.map((name) => `<link rel="modulepreload" href="${file(name)}">`),
    `<script type="module" src="${file(main)}"></script>`,
    '<body>',
    // what the script makes its frame of: it is painted while that is still on its way
    `<div id="app"><header class="top"><a class="brand" href="${basePath}/">svc</a></header></div>`,
    '<noscript>',
    '<h1>svc</h1>',
    '<p>This page needs JavaScript. The same is at</p>',
    '<ul>',
    `<li><a href="${basePath}/swagger">/swagger</a>: the read API</li>`,
    `<li><a href="${basePath}/v1/sessions">/v1/sessions</a>: the sessions</li>`,
    '</ul>',
    '</noscript>',
    '',
  ].join('\n');
}
