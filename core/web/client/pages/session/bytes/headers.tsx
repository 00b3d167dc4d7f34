/** The headers of a side, in the order of the wire and as often as they came; a credential was replaced before it was written. */
import { Recorded } from '../../../parts/recorded.tsx';

const REDACTED = '[redacted]';

export function Headers({ headers }: { headers: readonly (readonly [string, string])[] }) {
  const replaced = headers.filter(([, value]) => value.includes(REDACTED)).length;
  if (headers.length === 0) return <p class="muted">No headers were recorded.</p>;
  return (
    <details class="headers" open={headers.length <= 12}>
      <summary>
        {headers.length} {headers.length === 1 ? 'header' : 'headers'}
        {replaced > 0 && `, in ${replaced} a credential was replaced before writing`}
      </summary>
      <table>
        <thead class="spoken">
          <tr>
            <th scope="col">name</th>
            <th scope="col">value</th>
          </tr>
        </thead>
        <tbody>
          {headers.map(([name, value], n) => (
            <tr key={n} data-header={name.toLowerCase()}>
              <th scope="row">
                <Recorded text={name} />
              </th>
              <td>
                <Value text={value} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

const Value = ({ text }: { text: string }) => (
  <>
    {text.split(REDACTED).map((part, n) => (
      <span key={n}>
        {n > 0 && <span class="replaced">‹replaced before writing›</span>}
        <Recorded text={part} />
      </span>
    ))}
  </>
);
