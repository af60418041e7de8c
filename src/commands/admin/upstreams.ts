/** `admin upstreams`: the upstreams of tasks and text calls, and whether new work may go there. */
import { UpstreamNotFoundError, reportUpstreams, setDrained } from '../../upstreams/operations.ts';
import { presentUpstreams } from '../../presenters/admin-service.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation, OpenInstallation } from './installation.ts';

export function upstreamCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('list')
    .description('list the upstreams of tasks and text calls, with their health, jobs and queues')
    .action(onInstallation(async ({ database }) => list(database)));
  group
    .command('drain')
    .description('let no new work go to an upstream; its jobs continue')
    .argument('<upstream>')
    .action(onInstallation(async ({ database }, upstream) => change(database, upstream, true)));
  group
    .command('resume')
    .description('let work go to an upstream again, and end its pause')
    .argument('<upstream>')
    .action(onInstallation(async ({ database }, upstream) => change(database, upstream, false)));
}

type Database = OpenInstallation['database'];

async function list(database: Database) {
  // Which limits apply is in the model files, which are not read here.
  const { upstreams } = presentUpstreams(await reportUpstreams(database), new Map());
  return upstreams.map(({ upstream, state, pauseReason, pausedUntil, answeredAt, failures, slotsTaken, waiting }) => ({
    upstream,
    state,
    reason: pauseReason ?? '',
    pausedUntil: pausedUntil === 0 ? '' : new Date(pausedUntil * 1000).toISOString(),
    answered: answeredAt === 0 ? '' : new Date(answeredAt * 1000).toISOString(),
    failures,
    jobs: slotsTaken,
    waiting,
  }));
}

async function change(database: Database, upstream: string, isDrained: boolean) {
  try {
    await setDrained(database, upstream, isDrained);
  } catch (error) {
    if (!(error instanceof UpstreamNotFoundError)) throw error;
    throw new AdminError(`${error.message}: admin upstreams list has those in use`);
  }
  return { upstream, drained: isDrained };
}
