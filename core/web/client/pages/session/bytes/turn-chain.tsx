/** The call's link of the chain of hashes, and a check of its bytes against it in this browser. */
import { useState } from 'preact/hooks';
import type { RawTurnSides } from '../../../../../model/raw-turn.ts';
import { readBody, type TurnSide } from '../../../api/raw-turns.ts';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { verifyCommand } from '../copy-as.ts';

type Check = { side: TurnSide; matches: boolean };

export function TurnChain({ turn }: { turn: RawTurnSides }) {
  const { turn_hash, prev_hash, session_seq, session_id } = turn;
  const [checks, setChecks] = useState<Check[] | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const sides = (['request', 'response'] as const).filter((side) => turn[side]?.digest !== undefined);
  const check = async () => {
    setFailure(null);
    const found: Check[] = [];
    for (const side of sides) {
      const bytes = await readBody(turn.raw_turn_id, side, { as: 'wire' });
      found.push({ side, matches: (await sha256(bytes)) === turn[side]?.digest });
    }
    setChecks(found);
  };
  return (
    <section class="turn-chain" aria-label="Chain of hashes">
      <dl>
        <div>
          <dt>turn {session_seq} of its chain</dt>
          <dd>
            <code>{turn_hash}</code> <CopyButton text={turn_hash} label="Copy the hash of the turn" />
          </dd>
        </div>
        <div>
          <dt>the turn before</dt>
          <dd>
            <code>{prev_hash ?? 'none: the chain begins here'}</code>
          </dd>
        </div>
      </dl>
      {sides.length > 0 && isSecureContext && (
        <button type="button" onClick={() => check().catch(setFailure)}>
          Check the bytes in this browser
        </button>
      )}
      <CopyButton text={verifyCommand(session_id)} label="Copy the command that checks the whole session">
        svc verify …
      </CopyButton>
      <p role="status" data-check={checks?.every(({ matches }) => matches)}>
        {checks?.map(({ side, matches }) => (
          <span key={side} class={matches ? 'tone-ok' : 'tone-error'}>
            {side}: {matches ? 'the bytes are those of the chain ✓' : 'the bytes are not those of the chain ✗'}{' '}
          </span>
        ))}
      </p>
      {failure !== null && <Problem error={failure} />}
    </section>
  );
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
