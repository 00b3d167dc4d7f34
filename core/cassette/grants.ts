/** Was what a cassette asks for granted? The operator's list says so, entry by entry. */
import { Binding, type Grants } from './list.ts';
import type { DeclaredManifest } from './manifest.ts';
import { Rejection } from './running.ts';

export type BindingName = Grants['bindings'][number];

/** What has to stand in the list for it to come in. */
export const grantsFor = ({ bindings, depends }: DeclaredManifest): Grants => ({
  bindings: Binding.options.filter((name) => bindings[name]),
  views: [...depends.views],
  extensions: [...depends.extensions],
});

/** @param only bindings that are looked at; default: all that it asks for. @throws {Rejection} grants, naming what is missing */
export function refuseUngranted(manifest: DeclaredManifest, granted: Grants, only?: readonly BindingName[]): void {
  const asked = grantsFor(manifest);
  const missing = [
    ...asked.bindings
      .filter((name) => (only ? only.includes(name) : true) && !granted.bindings.includes(name))
      .map((name) => `the binding "${name}"`),
    ...(only ? [] : asked.views.filter((view) => !granted.views.includes(view)).map((view) => `the view "${view}"`)),
    ...(only
      ? []
      : asked.extensions.filter((name) => !granted.extensions.includes(name)).map((name) => `the extension "${name}"`)),
  ];
  if (missing.length > 0)
    throw new Rejection('grants', `Cannot take it: it asks for what was not granted: ${missing.join(', ')}`, missing);
}
