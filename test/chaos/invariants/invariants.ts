/** All invariants, and what they find in a campaign. */
import type { Evidence, Judge, Violation } from '../evidence.ts';
import { attemptsWithinSchedule, callbacksAgree, callbacksArrive } from './callbacks.ts';
import { oneClockDecides } from './clocks.ts';
import { goneOnlyWhereLost, successStays } from './losses.ts';
import { booksBalance, capturedWithinHeld, neverNegative, oneSettlement, textCallsArePaid } from './money.ts';
import { outputsAreWhatWasMade } from './outputs.ts';
import { noForbiddenConnection, noOrphans } from './remains.ts';
import {
  everyTaskEnds,
  oneSubmitChain,
  oneTaskPerKey,
  servesAgain,
  statusesMoveForward,
  terminalAnswersStay,
} from './tasks.ts';
import { deploysLoseNothing, eachItsOwnTasks, nobodyWaitsForAnother } from './trials.ts';

export const JUDGES: readonly Judge[] = [
  everyTaskEnds,
  servesAgain,
  terminalAnswersStay,
  statusesMoveForward,
  oneTaskPerKey,
  oneSubmitChain,
  goneOnlyWhereLost,
  successStays,
  oneSettlement,
  capturedWithinHeld,
  booksBalance,
  neverNegative,
  outputsAreWhatWasMade,
  callbacksArrive,
  attemptsWithinSchedule,
  callbacksAgree,
  textCallsArePaid,
  noOrphans,
  noForbiddenConnection,
  nobodyWaitsForAnother,
  deploysLoseNothing,
  eachItsOwnTasks,
  oneClockDecides,
];

export function judgeAll(evidence: Evidence): readonly Violation[] {
  return JUDGES.flatMap(({ invariant, judge }) => judge(evidence).map((found) => ({ invariant, ...found })));
}
