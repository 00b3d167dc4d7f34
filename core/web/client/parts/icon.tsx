/** The icons: one path each, drawn in the colour of the text beside them. */
const PATHS = {
  sessions: 'M2 3h12M2 8h12M2 13h8',
  spend: 'M8 1v14M11.5 4C10.5 2.7 4.5 2.5 4.5 5.3c0 3 7 1.9 7 5.2 0 3-6.3 2.9-7.5 1',
  find: 'M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2M10.7 10.7 14.5 14.5',
  skills: 'M3 2h8l2 2v10H3zM5.5 6h5M5.5 9h5',
  cassettes: 'M1.5 4h13v8.5h-13zM5 7.5a1 1 0 1 0 .1 0M11 7.5a1 1 0 1 0 .1 0M5 10h6',
  health: 'M1 8h3l2-5 3.5 10 2-5H15',
  help: 'M8 1.5a6.5 6.5 0 1 0 .1 0M8 7.5V11M8 4.8v.4',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  error: 'M8 1.5a6.5 6.5 0 1 0 .1 0M8 4.5v4.5M8 11v.7',
  ok: 'M2.5 8.5l3.5 3.5 7.5-8',
  warn: 'M8 2l6.5 12h-13zM8 6.5v3.5M8 11.7v.6',
  unknown: 'M8 1.5a6.5 6.5 0 1 0 .1 0M5 8h6',
  interrupted: 'M5.5 3v10M10.5 3v10',
  theme: 'M8 1.5a6.5 6.5 0 1 0 .1 0M8 1.5v13a6.5 6.5 0 0 0 0-13',
  fold: 'M6 3.5l4.5 4.5L6 12.5',
  download: 'M8 1.5v9M4 7l4 4 4-4M2 14.5h12',
  link: 'M6.5 9.5l3-3M7 4.5l2-2a3 3 0 0 1 4.5 4.5l-2 2M9 11.5l-2 2A3 3 0 0 1 2.5 9l2-2',
  star: 'M8 1.5l2 4.3 4.7.6-3.5 3.2.9 4.7L8 12l-4.1 2.3.9-4.7L1.3 6.4 6 5.8z',
  edit: 'M2 14l1-4 8-8 3 3-8 8zM9.5 3.5l3 3',
  delete: 'M2.5 4h11M6 4V2h4v2M4 4l.7 10h6.6L12 4',
  agent: 'M8 1.5a3 3 0 1 0 .1 0M2 14.5c0-7.5 12-7.5 12 0',
  tool: 'M9.5 6.5l-7 7M9 3a3.5 3.5 0 0 0 4.5 4.5M9 3l3-1M13.5 7.5l1-3',
  image: 'M1.5 2.5h13v11h-13zM1.5 11l4-4 4 4 2-2 3 3M10.5 5.5h.5',
} as const;

export type IconName = keyof typeof PATHS;

/** @param label what it means, where no word beside it says so */
export const Icon = ({ name, label }: { name: IconName; label?: string }) => (
  <svg
    class="icon"
    viewBox="0 0 16 16"
    width="16"
    height="16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.5"
    stroke-linecap="round"
    stroke-linejoin="round"
    role={label === undefined ? undefined : 'img'}
    aria-label={label}
    aria-hidden={label === undefined ? 'true' : undefined}
  >
    <path d={PATHS[name]} />
  </svg>
);
