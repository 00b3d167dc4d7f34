/** The copy of one call in the journal. What there is no room for is left out, and the copy recorded as cut from there on. */
import { type Appending, appendChunk, appendJson, appendReserved, CLOSED_RESERVE_BYTES } from './journal-append.ts';
import type { CallClosed, CallOpened, ResponseHead } from './journal-format.ts';
import { KIND, type RecordKind } from './journal-record.ts';
import type { Redacted } from './redact.ts';

export const HEADS_RESERVE_BYTES = 16_777_216; // heads and outcomes of calls may exceed the caps by this; their bodies may not

/** The copy of one call. Its methods never throw and never block. */
export type CallCopy = {
  /** A chunk of the request's body. False: it could not be stored, and neither will what follows it. */
  requestBytes(bytes: Uint8Array): boolean;
  responseHead(head: Redacted<ResponseHead>): void;
  /** A chunk of the response's body. False: it could not be stored, and neither will what follows it. */
  responseBytes(bytes: Uint8Array): boolean;
  /** The end, once. A copy that is known to be incomplete is recorded as cut, whatever the argument says. */
  close(closed: CallClosed): void;
};

/** `closed`: nothing is recorded any more. */
export type Copying = Appending & { lastCall: number; closed: boolean };

type CopyState = { call: number; keepsBodies: boolean; ended: boolean; requestCut: boolean; responseCut: boolean };

/** Begins the copy with the request's head; null where there is no room for it. */
export function openCopy(journal: Copying, opened: Redacted<CallOpened>): CallCopy | null {
  const call = journal.lastCall + 1;
  if (!appendJson(journal, KIND.opened, call, opened, -CLOSED_RESERVE_BYTES)) return null;
  journal.lastCall = call;
  journal.openCalls++;
  const copy: CopyState = {
    call,
    keepsBodies: opened.keep === 'full',
    ended: false,
    requestCut: false,
    responseCut: false,
  };
  return {
    requestBytes: (bytes) => {
      if (!copy.keepsBodies || bytes.byteLength === 0) return true;
      copy.requestCut ||= !addBody(journal, copy, KIND.requestBytes, bytes);
      return !copy.requestCut;
    },
    responseHead: (head) => {
      copy.responseCut ||=
        isOver(journal, copy) || !appendJson(journal, KIND.responseHead, call, head, HEADS_RESERVE_BYTES);
    },
    responseBytes: (bytes) => {
      if (!copy.keepsBodies || bytes.byteLength === 0) return true;
      copy.responseCut ||= !addBody(journal, copy, KIND.responseBytes, bytes);
      return !copy.responseCut;
    },
    close: (closed) => closeCopy(journal, copy, closed),
  };
}

const isOver = (journal: Copying, copy: CopyState): boolean => copy.ended || journal.closed;

const addBody = (journal: Copying, copy: CopyState, kind: RecordKind, bytes: Uint8Array): boolean =>
  !isOver(journal, copy) && appendChunk(journal, kind, copy.call, bytes);

function closeCopy(journal: Copying, copy: CopyState, closed: CallClosed): void {
  if (isOver(journal, copy)) return;
  copy.ended = true;
  journal.openCalls--;
  const cut = copy.requestCut ? 'request' : copy.responseCut ? 'response' : 'none';
  appendReserved(journal, KIND.closed, copy.call, closed.cut === 'none' ? { ...closed, cut } : closed);
}
