/** The mark of a break of the cache on a canvas. */

/** Its upper tip is at the upper edge. @param half of its width, in pixels */
export function diamond(context: CanvasRenderingContext2D, x: number, half = 5): void {
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x + half, half);
  context.lineTo(x, 2 * half);
  context.lineTo(x - half, half);
  context.fill();
}
