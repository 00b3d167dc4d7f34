/** Scrolls a list until a text stands still in its view: rows above it are measured meanwhile, and its own text comes. */

type Input = {
  list: () => HTMLElement | null;
  /** Where the text is now; null: it is not on screen. */
  find: () => Range | null;
  /** What is shown where the text never comes. */
  otherwise: () => Element | null;
  /** Helps when the text is not there. @returns false: nothing more can be done */
  unfound: (attempt: number) => Promise<boolean>;
  /** Called once: it stands still in view, or was given up. */
  settled: (range: Range | null) => void;
};

const STILL_FRAMES = 8;
const PATIENT_FRAMES = 20; // until a text that is not there is looked for in another way
const MOST_MS = 6_000;
export const BY_HAND = ['wheel', 'pointerdown', 'touchstart', 'keydown'];

/** Whoever scrolls meanwhile gives it up. @returns stops, and calls nothing */
export function keepInView({ list, find, otherwise, unfound, settled }: Input): () => void {
  const ends = performance.now() + MOST_MS;
  let [still, missed, attempt, last] = [0, 0, 0, Number.NaN];
  let isHelping = false;
  let frame = requestAnimationFrame(look);
  const scroller = list();
  const stop = () => {
    cancelAnimationFrame(frame);
    for (const event of BY_HAND) scroller?.removeEventListener(event, stop);
  };
  for (const event of BY_HAND) scroller?.addEventListener(event, stop, { passive: true });
  return stop;

  function look(): void {
    frame = requestAnimationFrame(look);
    const view = list();
    if (view === null) return;
    const range = find();
    if (range === null && !isHelping && ++missed > PATIENT_FRAMES) help();
    if (range !== null) missed = 0;
    const box = (range ?? (missed < 0 ? otherwise() : null))?.getBoundingClientRect();
    if (box && box.height > 0) {
      const moved = scrollTo(view, box, range);
      still = !moved && Math.abs(box.top - last) < 1 ? still + 1 : 0;
      last = box.top;
    }
    if (still >= STILL_FRAMES || performance.now() > ends) {
      stop();
      settled(range);
    }
  }

  function help(): void {
    isHelping = true;
    void unfound(attempt++).then((isHelped) => {
      isHelping = false;
      missed = isHelped ? 0 : Number.NEGATIVE_INFINITY; // its row has to do
    });
  }
}

/** Whether a box is in the middle part of the view. */
export function isInside(view: HTMLElement, box: DOMRect): boolean {
  const { top, bottom, height } = view.getBoundingClientRect();
  return box.top >= top + height * 0.1 && box.bottom <= bottom - height * 0.15;
}

/** Into the middle part of the view, and sideways within what scrolls so. @returns whether it was elsewhere */
function scrollTo(view: HTMLElement, box: DOMRect, range: Range | null): boolean {
  const { top, height } = view.getBoundingClientRect();
  let moved = false;
  if (!isInside(view, box)) {
    const before = view.scrollTop;
    view.scrollTop += box.top - (top + height * 0.35);
    moved = Math.abs(view.scrollTop - before) > 1;
  }
  for (let one = range?.startContainer.parentElement; one && one !== view; one = one.parentElement) {
    if (one.scrollWidth <= one.clientWidth) continue;
    const own = one.getBoundingClientRect();
    if (box.left >= own.left && box.left < own.right - 40) continue;
    const before = one.scrollLeft;
    one.scrollLeft += box.left - own.left - own.width / 4;
    moved ||= one.scrollLeft !== before;
  }
  return moved;
}
