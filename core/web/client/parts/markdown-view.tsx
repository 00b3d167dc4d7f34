/** Markdown as elements, made of the worker's blocks. */
import type { ComponentChildren, JSX } from 'preact';
import type { Inline, MarkdownBlock } from '../worker/tokens.ts';
import { Visible } from './recorded.tsx';
import { Runs } from './runs-view.tsx';

export const MarkdownView = ({ blocks }: { blocks: readonly MarkdownBlock[] }) => (
  <div class="markdown" dir="auto">
    {blocks.map(blockElement)}
  </div>
);

function blockElement(block: MarkdownBlock): JSX.Element {
  switch (block.type) {
    case 'paragraph':
      return <p dir="auto">{block.children.map(inlineElement)}</p>;
    case 'heading':
      return (
        <div class="markdown-heading" data-depth={block.depth}>
          {block.children.map(inlineElement)}
        </div>
      );
    case 'code':
      return (
        <pre class="runs" dir="ltr">
          <Runs runs={block.lines} />
        </pre>
      );
    case 'source':
      return (
        <pre class="source">
          <Visible text={block.text.replace(/\n+$/, '')} />
        </pre>
      );
    case 'quote':
      return <blockquote>{block.children.map(blockElement)}</blockquote>;
    case 'list':
      return listElement(block);
    case 'table':
      return tableElement(block);
    case 'rule':
      return <hr />;
  }
}

function listElement({ ordered, start, items }: Extract<MarkdownBlock, { type: 'list' }>): JSX.Element {
  const rows = items.map(({ checked, children }) => (
    <li>
      {checked !== null && (
        <span role="img" aria-label={checked ? 'done' : 'to do'}>
          {checked ? '☑ ' : '☐ '}
        </span>
      )}
      {children.map(blockElement)}
    </li>
  ));
  return ordered ? <ol start={start}>{rows}</ol> : <ul>{rows}</ul>;
}

const tableElement = ({ header, rows }: Extract<MarkdownBlock, { type: 'table' }>): JSX.Element => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, which the keyboard has to reach
  <div class="markdown-table" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {header.map((cell) => (
            <th>{cell.map(inlineElement)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {row.map((cell) => (
              <td>{cell.map(inlineElement)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

function inlineElement(inline: Inline): ComponentChildren {
  switch (inline.type) {
    case 'text':
      return <Visible text={inline.text} />;
    case 'code':
      return (
        <code>
          <Visible text={inline.text} />
        </code>
      );
    case 'break':
      return <br />;
    case 'strong':
      return <strong>{inline.children.map(inlineElement)}</strong>;
    case 'emphasis':
      return <em>{inline.children.map(inlineElement)}</em>;
    case 'deleted':
      return <del>{inline.children.map(inlineElement)}</del>;
    case 'link':
      return linkElement(inline);
  }
}

/** Where a link leads is written beside it, whatever its words say. */
const linkElement = ({ href, host, children }: Extract<Inline, { type: 'link' }>): JSX.Element => (
  <>
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children.map(inlineElement)}
    </a>
    <span class="link-host">
      {' '}
      (<Visible text={host} />)
    </span>
  </>
);
