/**
 * The jobs of the campaign's provider: a job's state is derived from the ledger and the time alone, so that a
 * provider that was killed knows all its jobs when it is back.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readBehaviour } from '../../support/test-provider/behaviour.ts';
import type { Job, Jobs } from '../../support/test-provider/jobs.ts';
import type { Protocol } from '../../support/test-provider/log.ts';
import { parseLedger } from '../ledger-file.ts';
import type { ProviderLine } from './ledger.ts';

interface Known {
  readonly id: string;
  readonly protocol: Protocol;
  readonly prompt: string;
  readonly idempotencyKey: string | undefined;
  readonly hookUrl: string | undefined;
  readonly createdAt: number;
}

/** @param file the ledger, which may not exist yet. */
export function openJobs(file: string, write: (line: ProviderLine) => void): Jobs {
  const byId = new Map<string, Job>();
  const byKey = new Map<string, Job>();
  const rejections = new Map<string, number>();

  const keep = (known: Known): Job => {
    const job = runJob(known, write);
    byId.set(job.id, job);
    if (job.idempotencyKey !== undefined) byKey.set(job.idempotencyKey, job);
    return job;
  };
  const lines = parseLedger<ProviderLine>(read(file));
  for (const line of lines) {
    if (line.kind === 'submit') {
      const { jobId: id = '', protocol, prompt = '', idempotencyKey, hookUrl, at: createdAt } = line;
      keep({ id, protocol, prompt, idempotencyKey, hookUrl, createdAt });
    }
    if (line.kind === 'cancel') byId.get(line.jobId ?? '')?.cancel();
  }

  return {
    create(protocol, prompt, { idempotencyKey, hookUrl } = {}) {
      const id = `${protocol === 'tasks' ? 'tk-svc-' : `${protocol}-`}${randomBytes(8).toString('hex')}`;
      write({
        kind: 'submit',
        protocol,
        jobId: id,
        prompt,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(hookUrl === undefined ? {} : { hookUrl }),
      });
      return keep({ id, protocol, prompt, idempotencyKey, hookUrl, createdAt: Date.now() });
    },
    find(protocol, id) {
      const job = byId.get(id);
      return job?.protocol === protocol ? job : undefined;
    },
    findByKey: (idempotencyKey) => byKey.get(idempotencyKey),
    isStillRejected(protocol, prompt) {
      const count = (rejections.get(`${protocol} ${prompt}`) ?? 0) + 1;
      rejections.set(`${protocol} ${prompt}`, count);
      return count <= readBehaviour(prompt).rejectFirst;
    },
  };
}

function runJob(known: Known, write: (line: ProviderLine) => void): Job {
  const behaviour = readBehaviour(known.prompt);
  const identity = { protocol: known.protocol, jobId: known.id, prompt: known.prompt };
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { hookUrl } = known;
  const callBack = (): void => {
    if (hookUrl !== undefined)
      void sendHook(hookUrl, known.id).then((status) => write({ kind: 'hook', ...identity, status }));
  };
  const repeated = behaviour.hookIntervalMs > 0 ? setInterval(callBack, behaviour.hookIntervalMs) : undefined;
  const timer = setTimeout(
    () => {
      job.state = 'done';
      write({ kind: 'finished', ...identity });
      clearInterval(repeated);
      end();
      callBack();
    },
    Math.max(0, known.createdAt + behaviour.workMs - Date.now()),
  );
  const job: Job = {
    id: known.id,
    protocol: known.protocol,
    prompt: known.prompt,
    behaviour,
    idempotencyKey: known.idempotencyKey,
    createdAt: known.createdAt,
    // Nothing is held here: the campaign works by the clock.
    answerable: Promise.resolve(),
    state: 'running',
    pollFailuresLeft: behaviour.pollFailures,
    fileBreaksLeft: behaviour.fileBreaks,
    ended,
    isDeleted: false,
    cancel() {
      if (job.state !== 'running') return;
      clearTimeout(timer);
      clearInterval(repeated);
      job.state = 'cancelled';
      end();
    },
  };
  return job;
}

/** How long a hook waits for its response. */
const HOOK_TIMEOUT_MS = 5_000;

async function sendHook(url: string, id: string): Promise<number> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ id, status: 'succeeded' }),
      signal: AbortSignal.timeout(HOOK_TIMEOUT_MS),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
