/** All operations of the database, one per line; their functions are in the files of this folder and its subfolders. */

import { cassetteSchemas } from './backup/cassette-schemas.ts';
import { isBackupWhole, openBackup } from './backup/open-backup.ts';
import { backupRows, cassetteRows } from './backup/read-rows.ts';
import {
  finishCassette,
  finishRestore,
  openRestore,
  restoreCassetteSchema,
  restoreInstallation,
  restoreRows,
} from './backup/restore.ts';
import {
  budgetStates,
  crossBudgets,
  crossingsAfter,
  endDelivery,
  forgetBudgets,
  lastCrossing,
  takeDelivery,
} from './budget/crossings.ts';
import { reviewOpened, sessionsChangedSince, storeReview, unreviewedSessions } from './cache/cache-reviews.ts';
import { compactionSeams } from './cache/compaction-seams.ts';
import { listBreaks } from './cache/list-breaks.ts';
import { callCassette, closeCassetteCursor, fetchCassetteCursor, openCassetteCursor } from './cassette/call.ts';
import { leaseCassette, releaseCassette } from './cassette/lease.ts';
import { migrateCassette } from './cassette/migrate-cassette.ts';
import { cassetteLogin } from './cassette/names.ts';
import { provisionCassette } from './cassette/provision.ts';
import { missingViews, removeCassette } from './cassette/remove-cassette.ts';
import { checkpoint } from './checkpoint.ts';
import { commitDerive } from './derive/derive-commit.ts';
import {
  derivePending,
  failDerive,
  freeLeases,
  leaseDirty,
  markLookedAt,
  markOutdated,
  parkAbandoned,
  postponeDerive,
  renewLeases,
  returnLeases,
} from './derive/derive-queue.ts';
import { deriveReport } from './derive/derive-report.ts';
import { deriveState, turnsToDerive } from './derive/derive-turns.ts';
import { markedPending, markFromScratch } from './derive/mark-from-scratch.ts';
import { replaceNodes } from './derive/replace-nodes.ts';
import { lastCorrection, turnsToRead } from './derive/session-turns.ts';
import { simpleSessions } from './derive/simple-sessions.ts';
import { hasPrefix } from './derive/transcript-chains.ts';
import { claimCalls, currentClaims } from './derive/transcript-claims.ts';
import { transcriptBytes } from './derive/transcript-files.ts';
import {
  firstCalls,
  projectedTranscriptCalls,
  transcriptState,
  transcriptUploads,
} from './derive/transcript-readings.ts';
import { transcriptVersions } from './derive/transcript-versions.ts';
import { deleteSession } from './edit/delete-session.ts';
import { editSession } from './edit/edit-session.ts';
import { removeEmptied } from './edit/move-turns.ts';
import { purgeParked } from './edit/purge-parked.ts';
import { openPurge, purgeSession } from './edit/purge-session.ts';
import { repairAttribution, repairPending } from './edit/repair-attribution.ts';
import { sweepPurged } from './edit/sweep-purged.ts';
import { candidateSpans, findCandidates, textWindows } from './find/find-candidates.ts';
import { findInSession, spansToSearch } from './find/find-in-session.ts';
import { findCoverage, pruneIndexed, sessionsToIndex, spansToIndex, writeIndexed } from './find/index-spans.ts';
import { promptCandidates } from './find/prompts.ts';
import {
  closeCollection,
  collectionDue,
  deleteSlices,
  openCollection,
  settledTurn,
  slicePage,
  slicesOfNodesBySession,
  slicesOfNodesByTurn,
  slicesOfRewritten,
  slicesOfTurns,
} from './gc/collect-slices.ts';
import { dropLog, rewriteTable, tableSizes } from './gc/rewrite-table.ts';
import { installation } from './installation.ts';
import {
  dropPartition,
  dueInPartition,
  entombTurns,
  keepSlices,
  markLeaving,
  moveCorrected,
  moveToKept,
  stayingInPartition,
  turnsInPartition,
} from './partition/leave-partition.ts';
import { analyzePartitioned, changePartition, partitions } from './partition/partitions.ts';
import { ping } from './ping.ts';
import { browseFacets } from './read/browse-facets.ts';
import { browseSessions } from './read/browse-sessions.ts';
import { databaseSizes } from './read/database-sizes.ts';
import { findTextElsewhere, findTextInSession } from './read/find-text.ts';
import { listRawTurns } from './read/list-raw-turns.ts';
import { listSessions } from './read/list-sessions.ts';
import { listTraces } from './read/list-traces.ts';
import { callChain, nodeChain } from './read/node-chain.ts';
import { nodeRoots } from './read/node-roots.ts';
import { nodeSources } from './read/node-sources.ts';
import { outline } from './read/outline.ts';
import { promptCallNamed, promptCallOf, promptCalls, promptCallsOf, promptMarks } from './read/prompt-calls.ts';
import { rawTurnBytes } from './read/raw-turn-bytes.ts';
import { readCoverage } from './read/read-coverage.ts';
import { rawTurnBody, readRawTurn } from './read/read-raw-turn.ts';
import { readSession } from './read/read-session.ts';
import { readSpan } from './read/read-span.ts';
import { readStats } from './read/read-stats.ts';
import { readStatsSeries } from './read/read-stats-series.ts';
import { readStatus } from './read/read-status.ts';
import { readTrace } from './read/read-trace.ts';
import { changedSince, changesNow, sessionChangedBy, sessionChanges } from './read/session-changes.ts';
import { sessionStart } from './read/session-start.ts';
import { linksOf, sessionTraces, spansOf } from './read/session-traces.ts';
import { sessionsToPurge } from './read/sessions-to-purge.ts';
import { placeOfSpan, spanWindow } from './read/span-window.ts';
import { spansOfBlocks } from './read/spans-of-blocks.ts';
import { toolsOfTraces } from './read/tools-of-traces.ts';
import { traceStart } from './read/trace-start.ts';
import { chainHead, sessionCount, sessionIds, turnChain } from './read/turn-chain.ts';
import { slicesUpTo, turnParts } from './read/turn-chain-bytes.ts';
import { whereIs } from './read/where-is.ts';
import { recordSize } from './record-size.ts';
import { countDue, dueSessions } from './retention/due-sessions.ts';
import { lastRemovals, recordRemoval } from './retention/removals.ts';
import {
  beginRemovals,
  endRemovals,
  forgetRemoved,
  openRemovals,
  removeCells,
  removeDerived,
  removeParkedTurns,
  removeTurns,
} from './retention/remove-sessions.ts';
import { measureStored } from './retention/stored-size.ts';
import { appendTranscripts } from './store/append-transcripts.ts';
import { appendTurns } from './store/append-turns.ts';
import { journalPositions } from './store/journal-positions.ts';
import { knownSlices } from './store/known-slices.ts';
import { parkTurn } from './store/park-turn.ts';
import { parkedCall, parkedCalls } from './store/parked-calls.ts';
import { lastAnswers, previousAnswers, referencedAnswers } from './store/previous-answers.ts';
import { storedCalls } from './store/stored-calls.ts';
import { takesWrites } from './takes-writes.ts';
import { vacuum } from './vacuum.ts';
import { isWorkLeased, leaseWork, releaseWork } from './work-lease.ts';

export const operations = {
  commitDerive,
  derivePending,
  deriveReport,
  deriveState,
  failDerive,
  freeLeases,
  parkAbandoned,
  postponeDerive,
  leaseDirty,
  markLookedAt,
  markOutdated,
  renewLeases,
  returnLeases,
  simpleSessions,
  turnsToDerive,
  turnsToRead,
  lastCorrection,
  transcriptBytes,
  transcriptVersions,
  hasPrefix,
  markFromScratch,
  markedPending,
  replaceNodes,
  transcriptState,
  projectedTranscriptCalls,
  claimCalls,
  currentClaims,
  transcriptUploads,
  firstCalls,
  previousAnswers,
  lastAnswers,
  referencedAnswers,
  storedCalls,
  rawTurnBytes,
  parkTurn,
  parkedCalls,
  parkedCall,
  knownSlices,
  journalPositions,
  appendTranscripts,
  appendTurns,
  linksOf,
  browseFacets,
  browseSessions,
  databaseSizes,
  listRawTurns,
  listSessions,
  listTraces,
  readCoverage,
  readRawTurn,
  rawTurnBody,
  promptCalls,
  promptCallOf,
  promptCallsOf,
  promptMarks,
  promptCallNamed,
  spansOfBlocks,
  readSession,
  readSpan,
  readStats,
  readStatsSeries,
  crossBudgets,
  crossingsAfter,
  lastCrossing,
  takeDelivery,
  endDelivery,
  forgetBudgets,
  budgetStates,
  readStatus,
  readTrace,
  changedSince,
  changesNow,
  sessionChangedBy,
  sessionChanges,
  sessionStart,
  outline,
  sessionTraces,
  spansOf,
  spanWindow,
  placeOfSpan,
  toolsOfTraces,
  traceStart,
  whereIs,
  chainHead,
  sessionCount,
  sessionIds,
  turnChain,
  turnParts,
  slicesUpTo,
  nodeChain,
  nodeRoots,
  nodeSources,
  callChain,
  editSession,
  deleteSession,
  repairAttribution,
  repairPending,
  removeEmptied,
  openPurge,
  purgeSession,
  purgeParked,
  sessionsToPurge,
  findTextInSession,
  candidateSpans,
  findCandidates,
  textWindows,
  findCoverage,
  findInSession,
  spansToSearch,
  promptCandidates,
  pruneIndexed,
  sessionsToIndex,
  spansToIndex,
  writeIndexed,
  findTextElsewhere,
  compactionSeams,
  listBreaks,
  reviewOpened,
  sessionsChangedSince,
  storeReview,
  unreviewedSessions,
  sweepPurged,
  countDue,
  dueSessions,
  openRemovals,
  beginRemovals,
  removeDerived,
  removeCells,
  forgetRemoved,
  removeTurns,
  endRemovals,
  removeParkedTurns,
  recordRemoval,
  lastRemovals,
  measureStored,
  partitions,
  changePartition,
  analyzePartitioned,
  markLeaving,
  turnsInPartition,
  stayingInPartition,
  moveToKept,
  moveCorrected,
  dueInPartition,
  entombTurns,
  keepSlices,
  dropPartition,
  openCollection,
  closeCollection,
  collectionDue,
  settledTurn,
  slicesOfTurns,
  slicesOfNodesBySession,
  slicesOfNodesByTurn,
  slicesOfRewritten,
  slicePage,
  deleteSlices,
  tableSizes,
  rewriteTable,
  dropLog,
  leaseWork,
  releaseWork,
  isWorkLeased,
  takesWrites,
  openBackup,
  backupRows,
  cassetteSchemas,
  cassetteRows,
  isBackupWhole,
  openRestore,
  restoreRows,
  restoreInstallation,
  restoreCassetteSchema,
  finishCassette,
  finishRestore,
  callCassette,
  openCassetteCursor,
  fetchCassetteCursor,
  closeCassetteCursor,
  provisionCassette,
  missingViews,
  migrateCassette,
  removeCassette,
  leaseCassette,
  releaseCassette,
  cassetteLogin,
  checkpoint,
  installation,
  ping,
  recordSize,
  vacuum,
};
