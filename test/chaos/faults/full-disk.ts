/** A disk on which PostgreSQL can no longer write. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findClusterPid } from '../../../src/standalone/postgres.ts';
import { childrenOf } from '../lose-commits.ts';
import type { World } from '../world/world.ts';
import { sleepUntilMet } from './fault-evidence.ts';
import type { FaultEvidence } from './fault-evidence.ts';

const run = promisify(execFile);

/**
 * A file-size limit of zero on every process of PostgreSQL, which it treats as a full disk: "Ignore SIGXFSZ, so that
 * ulimit violations work like disk full" (its postmaster.c). The hard limit stays, and the user is the same, so that
 * no privilege is needed to restore it.
 */
export async function fullDisk(world: World, forMs: number): Promise<FaultEvidence> {
  const limit = async (bytes: string): Promise<number> => {
    const pid = await findClusterPid(world.cluster.directory);
    if (pid === undefined) return 0;
    const { uid, gid } = await stat(`/proc/${pid}`);
    const user = process.getuid?.() === uid ? {} : { uid, gid };
    // One of them may end meanwhile.
    const done = await Promise.allSettled(
      [pid, ...(await childrenOf(pid))].map((each) =>
        run('prlimit', ['--pid', String(each), `--fsize=${bytes}:`], user),
      ),
    );
    return done.filter(({ status }) => status === 'fulfilled').length;
  };
  const logFile = `${world.cluster.directory}.log`;
  const before = (await readFile(logFile, 'utf8')).length;
  const countComplaints = async (): Promise<number> => {
    const said = (await readFile(logFile, 'utf8')).slice(before);
    return said.match(/File too large|No space left|PANIC/g)?.length ?? 0;
  };
  const processes = await limit('0');
  await sleepUntilMet(forMs, async () => (await countComplaints()) > 0);
  await limit('unlimited');
  const complaints = await countComplaints();
  return {
    hasFired: complaints > 0,
    evidence: `${processes} processes could not write, ${complaints} complaints in their log`,
  };
}
