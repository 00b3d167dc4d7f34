/** The course of a session's context: the input tokens of its main calls, as a line the height of a word. */
const WIDTH = 64;
const HEIGHT = 14;

/** @param values at least two */
export function Sparkline({ values }: { values: readonly number[] }) {
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path d={sparkPath(values, WIDTH, HEIGHT)} />
    </svg>
  );
}

/** From the bottom, so that two lines can be compared by their shape; one pixel of room for the stroke. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  const most = Math.max(...values, 1);
  const step = values.length > 1 ? (width - 2) / (values.length - 1) : 0;
  return values
    .map((value, i) => {
      const x = 1 + i * step;
      const y = height - 1 - (value / most) * (height - 2);
      return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');
}
