/** How the time of prompts was spent: on models, on tools, and on waiting, in which nothing recorded was under way. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { clipped, merged, type Stretches, totalOf } from './time-scale.ts';

/** When calls of models, when calls or tools, and when prompts were under way. */
export type Activity = { model: Stretches; busy: Stretches; prompts: Stretches };

/** @param trace -1: of all */
export function activityOf({ spans, traces, names }: OutlineColumns, trace: number): Activity {
  const [llm, tool] = [names.indexOf('llm'), names.indexOf('tool')];
  const [model, busy, prompts]: [number, number][][] = [[], [], []] as [number, number][][];
  for (let span = 0; span < spans.count; span++) {
    const kind = spans.kind[span];
    if ((trace >= 0 && spans.trace[span] !== trace) || (kind !== llm && kind !== tool)) continue;
    const from = spans.started_us[span] ?? 0;
    const stretch: [number, number] = [from, from + (spans.duration_us[span] || 0)];
    busy?.push(stretch);
    if (kind === llm) model?.push(stretch);
  }
  for (let one = 0; one < traces.count; one++) {
    if (trace >= 0 && one !== trace) continue;
    const from = traces.started_us[one] ?? 0;
    prompts?.push([from, from + (traces.duration_us[one] || 0)]);
  }
  const all = merged(busy ?? []);
  return { model: merged(model ?? []), busy: all, prompts: merged([...(prompts ?? []), ...pairs(all)]) };
}

export type Shares = { model: number; tools: number; waiting: number };

/** As parts of 1, whose sum is 1; null: nothing took time. A tool that waits for its sub-agent's model counts as the model. */
export function sharesOf({ model, busy, prompts }: Activity, from: number, to: number): Shares | null {
  const total = totalOf(clipped(prompts, from, to));
  if (total <= 0) return null;
  const modelUs = totalOf(clipped(model, from, to));
  const busyUs = totalOf(clipped(busy, from, to));
  return { model: modelUs / total, tools: (busyUs - modelUs) / total, waiting: (total - busyUs) / total };
}

function pairs(stretches: Stretches): [number, number][] {
  const result: [number, number][] = [];
  for (let i = 0; i + 1 < stretches.length; i += 2) result.push([stretches[i] ?? 0, stretches[i + 1] ?? 0]);
  return result;
}
