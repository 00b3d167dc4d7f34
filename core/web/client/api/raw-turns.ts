/** Reads of raw turns: the facts of one, and the bytes of its two sides. */
import type { RawTurnSides } from '../../../model/raw-turn.ts';
import { readBytes, request } from './request.ts';

export type TurnSide = 'request' | 'response';

export const readRawTurn = (raw_turn_id: number, signal?: AbortSignal): Promise<RawTurnSides> =>
  request(`/v1/raw_turns/${raw_turn_id}`, { signal });

export const bodyPath = (raw_turn_id: number, side: TurnSide, as: 'wire' | 'decoded'): string =>
  `/v1/raw_turns/${raw_turn_id}/${side}?as=${as}`;

export const readBody = async (
  raw_turn_id: number,
  side: TurnSide,
  { as, signal }: { as: 'wire' | 'decoded'; signal?: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> =>
  (await readBytes(bodyPath(raw_turn_id, side, as), signal ? { signal } : {})).bytes;
