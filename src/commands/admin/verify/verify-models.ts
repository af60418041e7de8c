/**
 * `admin models verify`: runs models against the real services of their providers, where they have a credential, and
 * stores how that ended.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { AT_ONCE, createMediaInspector } from '@darkroom/media/inspect';
import { definitionHash } from '../../../catalogue/definition.ts';
import { readVerifications, recordVerification } from '../../../catalogue/live-verifications.ts';
import type { LiveVerification } from '../../../catalogue/live-verifications.ts';
import { loadDirectDatabaseConfig } from '../../../config/config.ts';
import { acquireSessionLock } from '../../../database/session-lock.ts';
import { formatUsd } from '../../../domain/money.ts';
import type { UpstreamSettings } from '../../../upstreams/upstream-settings.ts';
import { AdminError } from '../admin-error.ts';
import { readAmount } from '../arguments.ts';
import type { OpenInstallation } from '../installation.ts';
import { openSettings, readFiles } from '../providers.ts';
import { requireAnswer } from '../try/money.ts';
import { openOutputs } from '../try/outputs.ts';
import { startStopping } from '../try/stopping.ts';
import { printable } from '../try/run-log.ts';
import { boundCost, planRuns } from './plan.ts';
import type { Plan, Run } from './plan.ts';
import { runLive } from './run.ts';
import type { RunResult, RunTools } from './run.ts';
import { stageRuns } from './stage.ts';
import type { StagedRun } from './stage.ts';

export interface VerifyOptions {
  readonly live?: true;
  readonly maxCost?: string;
  readonly mediaUrl?: readonly string[];
  readonly cancel?: true;
  readonly yes?: true;
}

/** @param names of models and providers. @throws {AdminError} the arguments are wrong, or nothing can be run. */
export async function verifyModels(
  installation: OpenInstallation,
  names: readonly string[],
  options: VerifyOptions,
): Promise<unknown> {
  const max = options.maxCost === undefined ? undefined : readAmount('max-cost', options.maxCost);
  const media = readMediaUrls(options.mediaUrl ?? []);
  if (options.live === true && max === undefined) throw new AdminError('--max-cost: --live needs it, in USD');
  if (options.live !== true && options.yes === true) throw new AdminError('--yes: it needs --live');
  const settings = openSettings(installation);
  try {
    await settings.refresh();
    const isCancelTested = options.cancel === true;
    const all = planRuns(await readFiles(installation.environment), settings, { names, media, isCancelTested });
    const plan = max === undefined ? all : boundCost(all, max);
    if (options.live === true) return await runAll(installation, settings, plan, options.yes === true);
    process.stderr.write('Nothing was sent. With --live and --max-cost it is.\n');
    return presentPlan(plan);
  } finally {
    await settings.close();
  }
}

/** @returns URLs by kind. @throws {AdminError} */
function readMediaUrls(given: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    given.map((argument) => {
      const [, kind = '', url = ''] = /^(image|video|audio)=(https?:\/\/.+)$/.exec(argument) ?? [];
      if (!URL.canParse(url))
        throw new AdminError(`--media-url: "${argument}" is not image=, video= or audio= and a URL`);
      return [kind, url];
    }),
  );
}

/** What all processes of an installation lock while one of them spends money. */
const LOCK = 'models verify';

async function runAll(
  installation: OpenInstallation,
  settings: UpstreamSettings,
  plan: Plan,
  isAgreed: boolean,
): Promise<unknown> {
  const { database, environment } = installation;
  const before = await readVerifications(database);
  const lock = await acquireSessionLock(loadDirectDatabaseConfig(environment), LOCK);
  if (lock === undefined) {
    throw new AdminError('another models verify runs on this database: start it again when that has ended');
  }
  const outputs = openOutputs(environment);
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'darkroom-verify-inputs-'));
  try {
    const { staged, skipped: unstaged } = await stageAll(plan, { secrets: settings, outputs, scratch });
    const ready = { runs: staged.map(({ run }) => run), skipped: [...plan.skipped, ...unstaged] };
    if (staged.length > 0) {
      const warning = `This sends ${staged.length} of the examples to providers. That may cost ${sumOf(ready)} USD.`;
      await requireAnswer(warning, 'Send them?', isAgreed);
    }
    const results = await runEach(installation, { secrets: settings, outputs }, staged, before);
    const { skipped } = presentPlan(ready);
    const isSuccess = results.length > 0 && results.every(({ outcome }) => outcome === 'success');
    if (!isSuccess || unstaged.length > 0) process.exitCode = 1;
    return { atMost: sumOf(ready), results, skipped };
  } finally {
    await Promise.all([outputs.close(), lock.release(), rm(scratch, { recursive: true, force: true })]);
  }
}

async function stageAll(plan: Plan, tools: Omit<Parameters<typeof stageRuns>[1], 'signal'>) {
  const interrupts = startStopping();
  try {
    return await stageRuns(plan, { ...tools, signal: interrupts.signal });
  } finally {
    interrupts.end();
  }
}

async function runEach(
  { database }: OpenInstallation,
  { secrets, outputs }: Pick<RunTools, 'secrets' | 'outputs'>,
  runs: readonly StagedRun[],
  before: readonly LiveVerification[],
) {
  const inspector = createMediaInspector({ turns: AT_ONCE });
  const interrupts = startStopping();
  const results = [];
  try {
    for (const staged of runs) {
      if (interrupts.signal.aborted) break;
      const { run } = staged;
      const { model, route, upstream } = positionOf(run);
      const note = (text: string): void => void process.stderr.write(printable(`${model}: ${text}\n`));
      note(`route ${route}, upstream ${upstream} of it, at most ${formatUsd(run.costMicroUsd)} USD`);
      const tools: RunTools = { secrets, outputs, inspector, interrupted: interrupts.signal, note };
      const result = await runLive(staged, tools);
      const { outcome } = result;
      // Before anything else can go wrong: it was paid for.
      note(`${outcome}: ${result.detail}`);
      if (outcome !== 'stopped') {
        await recordVerification(database, positionOf(run), {
          definitionHash: definitionHash(run.definition),
          outcome,
          detail: result.detail,
          members: outcome === 'success' ? result.members : undefined,
          costMicroUsd: run.costMicroUsd,
        });
      }
      results.push(presentResult(run, result, before));
    }
  } finally {
    interrupts.end();
    await inspector.close();
  }
  return results;
}

function positionOf({ provider, definition, target }: Pick<Run, 'provider' | 'definition' | 'target'>) {
  return { provider, model: definition.name, route: target.route, upstream: target.index };
}

function presentResult(run: Run, { outcome, detail, members }: RunResult, before: readonly LiveVerification[]) {
  const position = positionOf(run);
  const known = before.find(
    (each) =>
      each.provider === position.provider &&
      each.model === position.model &&
      each.route === position.route &&
      each.upstream === position.upstream,
  )?.members;
  const isCompared = known !== undefined && known !== null && outcome !== 'stopped';
  return {
    ...position,
    outcome,
    appeared: isCompared ? members.filter((name) => !known.includes(name)) : [],
    disappeared: isCompared ? known.filter((name) => !members.includes(name)) : [],
    detail,
  };
}

function presentPlan(plan: Plan) {
  return {
    atMost: sumOf(plan),
    runs: plan.runs.map((run) => ({ ...positionOf(run), atMost: formatUsd(run.costMicroUsd) })),
    skipped: plan.skipped.map((run) => ({ ...positionOf(run), reason: run.reason })),
  };
}

function sumOf({ runs }: Plan): string {
  return formatUsd(runs.reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0n));
}
