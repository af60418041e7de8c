/** The findings of a campaign, for people and for machines. */
import type { Campaign } from './campaign.ts';
import { INVARIANTS } from './invariants/invariants.ts';
import { finalTasks } from './invariants/tasks.ts';
import type { ClientLine } from './records.ts';
import { TARGETS } from './schedule.ts';
import type { FaultRecord } from './storm.ts';

export interface FaultReport extends FaultRecord {
  /**
   * From the end of the fault until a task that was created after it had succeeded, a task's own second or two
   * included; undefined: no more tasks were created.
   */
  readonly recoveredAfterMs: number | undefined;
}

export interface CampaignReport {
  readonly seed: number;
  readonly minutes: number;
  readonly mutant?: string;
  readonly store: string;
  readonly tasks: Readonly<Record<string, number>>;
  readonly attempts: Readonly<Record<string, number>>;
  readonly provider: Readonly<Record<string, number>>;
  readonly callbacks: Readonly<Record<string, number>>;
  readonly textCalls: Readonly<Record<string, number>>;
  /** How they ended: responses in the background, batches and their lines. */
  readonly responses: Readonly<Record<string, number>>;
  readonly batches: Readonly<Record<string, number>>;
  readonly lines: Readonly<Record<string, number>>;
  readonly quietAfterSeconds: number | undefined;
  readonly faults: readonly FaultReport[];
  readonly notFired: readonly string[];
  /** Nothing is shown for these at all. */
  readonly kindsNotFired: readonly string[];
  readonly ownEnds: readonly string[];
  readonly invariants: Readonly<Record<string, number>>;
  readonly violations: Campaign['violations'];
}

export function reportOf(campaign: Campaign): CampaignReport {
  const { evidence, faults, violations } = campaign;
  const tasks = [...finalTasks(evidence).values()];
  const accounts = [...evidence.accounts.values()];
  const batches = accounts.flatMap((account) => account.batches);
  const withRecovery = faults.map((fault) => ({ ...fault, recoveredAfterMs: recoveryOf(fault, evidence.clients) }));
  return {
    seed: campaign.seed,
    minutes: campaign.minutes,
    ...(campaign.mutant === undefined ? {} : { mutant: campaign.mutant }),
    store: campaign.whyNoS3 === undefined ? 'an S3 server' : `A DIRECTORY, NO S3 SERVER: ${campaign.whyNoS3}`,
    tasks: tally(
      tasks.map(({ status, error }) => (error === undefined ? status : `fail ${error.reason ?? error.code}`)),
    ),
    attempts: tally(evidence.clients.map((line) => `${line.kind} ${outcomeOf(line)}`)),
    provider: tally(evidence.provider.map(({ kind }) => kind)),
    callbacks: tally([...evidence.callbacks.values()].map(({ state }) => state)),
    textCalls: tally(evidence.clients.flatMap((line) => (line.kind === 'text' ? [line.end ?? outcomeOf(line)] : []))),
    responses: tally(
      accounts.flatMap(({ responses }) => [...responses.values()].map((each) => each?.status ?? 'gone')),
    ),
    batches: tally(batches.map(({ batch }) => batch.status)),
    lines: tally(
      batches.flatMap(({ output, errors }) => [...output, ...errors].map((line) => line.errorCode ?? 'answered')),
    ),
    quietAfterSeconds: campaign.quietAfterMs === undefined ? undefined : campaign.quietAfterMs / 1000,
    faults: withRecovery,
    notFired: faults
      .filter(({ hasFired }) => !hasFired)
      .map(({ fault, evidence }) => `${fault.kind} ${fault.target}: ${evidence}`),
    kindsNotFired: Object.keys(TARGETS).filter(
      (kind) => !faults.some(({ fault, hasFired }) => hasFired && fault.kind === kind),
    ),
    ownEnds: campaign.ownEnds.map(({ name, exit }) => `${name} ended by itself with ${exit}, and was started again`),
    invariants: Object.fromEntries(
      INVARIANTS.map(({ name }) => [name, violations.filter(({ invariant }) => invariant === name).length]),
    ),
    violations,
  };
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words.toSorted()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function outcomeOf({ outcome }: ClientLine): string {
  return outcome.kind === 'answer' ? String(outcome.status) : `unknown (${outcome.why})`;
}

function recoveryOf({ ended }: FaultRecord, clients: readonly ClientLine[]): number | undefined {
  const after = new Set(
    clients.flatMap((line) =>
      line.kind === 'create' && line.begun >= ended && line.taskId !== undefined ? [line.taskId] : [],
    ),
  );
  const first = clients.find(
    (line) => line.kind === 'read' && line.begun >= ended && line.task?.status === 'success' && after.has(line.taskId),
  );
  return first === undefined ? undefined : first.ended - ended;
}

const SHOWN_VIOLATIONS = 40;

/** The same as lines for a terminal. */
export function summaryOf(report: CampaignReport): string {
  const counts = (each: Readonly<Record<string, number>>): string =>
    Object.entries(each)
      .map(([name, count]) => `${name}: ${count}`)
      .join(' · ');
  const seconds = (ms: number | undefined): string => (ms === undefined ? '–' : `${(ms / 1000).toFixed(1)} s`);
  const lines = [
    `seed ${report.seed}, ${report.minutes} min${report.mutant === undefined ? '' : `, MUTANT ${report.mutant}`}; store: ${report.store}`,
    `tasks      ${counts(report.tasks)}`,
    `attempts   ${counts(report.attempts)}`,
    `provider   ${counts(report.provider)}`,
    `callbacks  ${counts(report.callbacks)}`,
    `text       ${counts(report.textCalls)}`,
    `background ${counts(report.responses)}`,
    `batches    ${counts(report.batches)}; lines: ${counts(report.lines)}`,
    `quiet      ${report.quietAfterSeconds === undefined ? 'NEVER' : `${report.quietAfterSeconds.toFixed(0)} s after the healing`}`,
    'faults     (fired · kind target · for · recovered after · evidence)',
    ...report.faults.map(
      ({ fault, hasFired, recoveredAfterMs, evidence }) =>
        `  ${hasFired ? 'yes' : 'NO '}  ${`${fault.kind} ${fault.target}`.padEnd(32)} ${seconds(fault.forMs).padStart(7)} ${seconds(recoveredAfterMs).padStart(8)}  ${evidence}`,
    ),
    ...report.ownEnds.map((line) => `  ${line}`),
    `kinds of which nothing fired: ${report.kindsNotFired.join(', ') || 'none'}`,
    'invariants',
    ...Object.entries(report.invariants).map(
      ([invariant, count]) => `  ${count === 0 ? 'holds ' : `${count} VIOLATIONS`} ${invariant}`,
    ),
    ...report.violations
      .slice(0, SHOWN_VIOLATIONS)
      .map(({ invariant, subject, detail }) => `  ${invariant}\n    ${subject}: ${detail}`),
  ];
  return lines.join('\n');
}
