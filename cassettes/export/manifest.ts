/** The manifest of the export cassette: it reads the four views, stores nothing and needs no network. */
import type { Manifest } from '../../core/cassette/contract.ts';

export const manifest = {
  kind: 'svc.cassette/v1',
  cassette: {
    name: 'export',
    version: '1.0.0',
    display_name: 'Export',
    description: 'Whole sessions as newline-delimited JSON: one of them, or all that were active in a window of time',
    license: 'Apache-2.0',
  },
  depends: { core: 'v1', views: ['sessions', 'spans', 'span_turns', 'span_links'] },
  bindings: { db: true },
} satisfies Manifest;
