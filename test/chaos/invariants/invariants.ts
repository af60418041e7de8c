/** All invariants, and the violations of them in a campaign. */
import type { Evidence, Invariant, Violation } from '../evidence.ts';
import { attemptsWithinSchedule, callbacksAgree, callbacksArrive } from './callbacks.ts';
import { oneClockDecides } from './clocks.ts';
import {
  answersArePaid,
  everyLineOnce,
  everyResponseEnds,
  linesOutwait,
  requestsAreBooked,
  sentAgainOnlyIfInterrupted,
} from './durable.ts';
import { goneOnlyWhereLost, successStays } from './losses.ts';
import { ledgerBalances, capturedWithinHeld, neverNegative, oneSettlement, textCallsArePaid } from './money.ts';
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
import { deploysLoseNothing, eachItsOwnTasks, noAccountWaitsForAnother } from './trials.ts';

export const INVARIANTS: readonly Invariant[] = [
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
  ledgerBalances,
  neverNegative,
  outputsAreWhatWasMade,
  callbacksArrive,
  attemptsWithinSchedule,
  callbacksAgree,
  textCallsArePaid,
  everyResponseEnds,
  everyLineOnce,
  linesOutwait,
  answersArePaid,
  requestsAreBooked,
  sentAgainOnlyIfInterrupted,
  noOrphans,
  noForbiddenConnection,
  noAccountWaitsForAnother,
  deploysLoseNothing,
  eachItsOwnTasks,
  oneClockDecides,
];

export function checkInvariants(evidence: Evidence): readonly Violation[] {
  return INVARIANTS.flatMap(({ name, check }) => check(evidence).map((found) => ({ invariant: name, ...found })));
}
