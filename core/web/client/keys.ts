/** The commands of the keyboard: what is on the page registers them, one listener runs them. */
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { type KeyCommands, keyName, type Stroke, strokeOf } from './key-strokes.ts';
import { letterKeys } from './store/preferences.ts';

type Registration = { scope: string; commands: () => KeyCommands };

const registrations: Registration[] = [];

/** Moves when commands come or go, so that the sheet follows. */
export const keysChanged = signal(0);

/** @param scope the heading in the sheet; `dialog` works above an open dialog, all others do not */
export function useKeys(commands: KeyCommands, { scope }: { scope: string }): void {
  const current = useRef(commands);
  current.current = commands;
  // Not after the next frame: a key pressed as soon as the page is seen is for the page that is seen.
  useLayoutEffect(() => {
    const registration = { scope, commands: () => current.current };
    registrations.push(registration);
    keysChanged.value += 1;
    return () => {
      registrations.splice(registrations.indexOf(registration), 1);
      keysChanged.value += 1;
    };
  }, [scope]);
}

/** What the sheet shows: the commands of each scope, those registered first first. */
export function registeredKeys(): Map<string, [key: string, does: string][]> {
  const scopes = new Map<string, [string, string][]>();
  for (const { scope, commands } of registrations) {
    const rows = scopes.get(scope) ?? [];
    for (const [key, { does }] of Object.entries(commands()))
      if (!rows.some(([other]) => other === key)) rows.push([key, does]);
    scopes.set(scope, rows);
  }
  return scopes;
}

/** Runs commands as keys are pressed. @returns stops */
export function listenToKeys(): () => void {
  let before: Stroke | null = null;
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || isModifier(event.key)) return;
    const name = keyName(event);
    const isCharacter = [...name].length === 1;
    if (isCharacter && (letterKeys.value === 'off' || isTyping(event.target))) return;
    if (isTyping(event.target) && name !== 'Escape' && !name.includes('+')) return;
    if (ownKey(event.target, name)) return;
    const inDialog = document.querySelector('dialog[open]') !== null;
    const found = registrations.filter(({ scope }) => (scope === 'dialog') === inDialog).reverse();
    const stroke = strokeOf(
      before,
      name,
      event.timeStamp,
      found.map(({ commands }) => commands()),
    );
    before = stroke;
    if (stroke.begins) event.preventDefault();
    if (stroke.command && stroke.command.run(event) !== false) event.preventDefault();
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

const isModifier = (key: string): boolean => ['Shift', 'Control', 'Alt', 'Meta', 'CapsLock'].includes(key);

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('textarea, select, input:not([type=checkbox], [type=radio], [type=button])'));

/** Enter and the space bar on something that can be pressed press it. */
const ownKey = (target: EventTarget | null, name: string): boolean =>
  (name === 'Enter' || name === ' ') &&
  target instanceof HTMLElement &&
  target.closest('a[href], button, summary, input, [role=button], [role=tab], [role=menuitem]') !== null;
