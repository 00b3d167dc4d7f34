/** Four questions on a CSS grid, asked by a program that names no session: the conversation itself keeps them together. */
import { answers, asks, type Script } from '../script.ts';

export const cardLayout: Script = {
  slug: 'card-layout',
  wire: 'chat',
  minutes_ago: 1_560,
  agent: '',
  harness: null,
  model: 'gpt-4o-mini',
  system: 'You answer questions on web development, briefly and with code.',
  preamble_tokens: 0,
  tools: [],
  steps: [
    asks(
      'My grid of departure cards runs off the right edge on narrow phones. It has grid-template-columns: repeat(3, 1fr). How do I make it wrap?',
    ),
    answers(
      'Let the grid decide how many columns fit:\n\n```css\n.departures {\n  display: grid;\n  gap: 1rem;\n  grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr));\n}\n```\n\n`auto-fit` makes as many columns as there is room for, `minmax(…, 1fr)` lets them share what is left. The inner `min(100%, 16rem)` matters on phones that are narrower than 16rem: without it the column keeps its minimum width, and the page scrolls sideways again.',
    ),
    asks('It wraps now. But a card with a long harbour name still becomes wider than the others.', 80),
    answers(
      'A grid item may not become narrower than its longest word, because its `min-width` is `auto`. Allow it to shrink, and the word to break:\n\n```css\n.departures > .card {\n  min-width: 0;\n  overflow-wrap: anywhere;\n}\n```\n\nIf you would rather cut the name off, use `overflow: hidden; text-overflow: ellipsis; white-space: nowrap` on the heading, and give the whole name in `title`.',
    ),
    asks('And the price should sit at the bottom of every card, however much text is above it.', 110),
    answers(
      'Grid makes the cards of a row equally high already, so only the inside is missing. Make the card a column and push the price down:\n\n```css\n.card {\n  display: flex;\n  flex-direction: column;\n}\n.card .price {\n  margin-top: auto;\n}\n```\n\n`margin-top: auto` takes all the space that is left over. If headings should line up across the cards as well, look at `subgrid`: `grid-row: span 3; grid-template-rows: subgrid`.',
    ),
    asks('Last one: everything jumps when the web font arrives. Can I avoid that without giving up the font?', 140),
    answers(
      'Give the fallback font the same measures as the web font, so that the swap moves nothing:\n\n```css\n@font-face {\n  font-family: "Harbour Fallback";\n  src: local("Arial");\n  size-adjust: 104%;\n  ascent-override: 92%;\n}\nbody {\n  font-family: "Harbour Sans", "Harbour Fallback", sans-serif;\n}\n```\n\nMeasure `size-adjust` by laying one line of text over the other. Preload the font file and keep `font-display: swap`; with `optional` there is no jump at all, but a first visit may stay in the fallback.',
    ),
  ],
};
