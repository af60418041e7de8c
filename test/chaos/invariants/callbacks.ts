/** What must hold for callbacks, according to their receivers' logs. */
import { groupBy } from '../grouped.ts';
import { createHmac } from 'node:crypto';
import type { Evidence, Invariant } from '../evidence.ts';
import { wasHeardInLoss } from '../losses.ts';
import { isTerminal } from '../records.ts';
import type { TaskAnswer } from '../records.ts';
import type { ReceiverLine } from '../receivers/log.ts';
import { finalTasks, mayStayGone, terminalFacts } from './tasks.ts';

type Received = ReceiverLine & { readonly kind: 'received' };

function taskOf({ body }: Received): TaskAnswer {
  return JSON.parse(body) as TaskAnswer;
}

/** The received callbacks of each task; a body that is no task detail is listed under its path. */
function received({ receivers }: Evidence): ReadonlyMap<string, readonly Received[]> {
  const lines = receivers.filter((line): line is Received & { at: number } => line.kind === 'received');
  return groupBy(lines, (line) => taskOf(line).taskId ?? line.path);
}

function answersOf({ receivers }: Evidence, lines: readonly Received[]): readonly number[] {
  const asked = new Set(lines.map(({ run, id }) => `${run} ${id}`));
  return receivers.flatMap((line) =>
    line.kind === 'answered' && asked.has(`${line.run} ${line.id}`) ? [line.status] : [],
  );
}

/** Whether a task was created with a callback, according to the clients' logs. */
function withCallback({ clients }: Evidence): ReadonlySet<string> {
  return new Set(
    clients.flatMap((line) =>
      line.kind === 'create' && line.callbackPath !== undefined && line.taskId !== undefined ? [line.taskId] : [],
    ),
  );
}

export const callbacksArrive: Invariant = {
  name: 'every callback is delivered, or its exhaustion is recorded',
  check(evidence) {
    const arrived = received(evidence);
    const finals = finalTasks(evidence);
    return [...withCallback(evidence)].flatMap((taskId) => {
      const record = evidence.callbacks.get(taskId);
      if (!finals.has(taskId) && mayStayGone(taskId, evidence)) return [];
      if (record === undefined) return [{ subject: taskId, detail: 'no record of its callback' }];
      const lines = arrived.get(taskId) ?? [];
      const answers = answersOf(evidence, lines);
      const has2xx = answers.some((status) => status >= 200 && status < 300);
      const summary = `${record.state} after ${record.attempts.length} attempts, ${lines.length} came, answered ${answers.join(', ') || 'nothing'}`;
      const isRight =
        (record.state === 'delivered' && has2xx) ||
        (record.state === 'stopped' && answers.includes(410)) ||
        (record.state === 'exhausted' && record.attempts.length >= evidence.callbackAttemptsAtMost);
      return isRight ? [] : [{ subject: taskId, detail: summary }];
    });
  },
};

/** Whether it was sent while commits were lost, by its own timestamp: whole seconds. */
function mayBeForgotten({ headers }: Received, { losses }: Evidence): boolean {
  return wasHeardInLoss(Number(headers['webhook-timestamp']) * 1000, losses, 1000);
}

export const attemptsWithinSchedule: Invariant = {
  name: 'a receiver never sees more attempts than the schedule has, nor more than are recorded',
  check(evidence) {
    return [...received(evidence)].flatMap(([taskId, lines]) => {
      const recorded = evidence.callbacks.get(taskId)?.attempts.length ?? 0;
      // Each loss can undo the record of what was sent in its time, and all of it is sent once more.
      const kept = lines.filter((line) => !mayBeForgotten(line, evidence)).length;
      const rounds = kept === lines.length ? 1 : 1 + evidence.losses.length;
      const { callbackAttemptsAtMost: most } = evidence;
      return kept <= Math.min(recorded, most) && lines.length <= most * rounds
        ? []
        : [
            {
              subject: taskId,
              detail: `${lines.length} came, ${kept} of them before any loss or after it, ${recorded} are recorded`,
            },
          ];
    });
  },
};

export const callbacksAgree: Invariant = {
  name: 'every callback verifies, keeps its id, and says what GET says',
  check(evidence) {
    const finals = finalTasks(evidence);
    const secrets = new Map(
      [...evidence.accounts.values()].flatMap(({ tasks, webhookSecret }) =>
        tasks.map(({ taskId }) => [taskId, webhookSecret] as const),
      ),
    );
    return [...received(evidence)].flatMap(([taskId, lines]) =>
      lines.flatMap((line) => {
        const problems: string[] = [];
        const secret = secrets.get(taskId);
        const final = finals.get(taskId);
        const task = taskOf(line);
        const isForgotten = mayBeForgotten(line, evidence);
        if (secret === undefined || final === undefined) {
          // Its client never learned its id, and so cannot create it again.
          if (!isForgotten) problems.push('of a task that no one has');
        } else {
          if (!verifies(line, secret)) problems.push('its signatures do not verify');
          if (line.headers['webhook-id'] !== `msg_${taskId}`)
            problems.push(`its id is ${String(line.headers['webhook-id'])}`);
          if (!isTerminal(task.status)) problems.push(`it says ${task.status}`);
          else if (!isForgotten && terminalFacts(task) !== terminalFacts(final)) {
            problems.push(`it says ${terminalFacts(task)}, GET says ${terminalFacts(final)}`);
          }
        }
        return problems.map((detail) => ({ subject: taskId, detail }));
      }),
    );
  },
};

/** Both forms of contract §6, computed here and not with the program's own code. */
function verifies({ headers, body }: Received, secret: string): boolean {
  const hmac = (text: string, form: 'hex' | 'base64'): string => createHmac('sha256', secret).update(text).digest(form);
  const own = hmac(`${String(headers['x-darkroom-timestamp'])}.${body}`, 'hex');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const standard = `v1,${hmac(signed, 'base64')}`;
  return headers['x-darkroom-signature'] === own && String(headers['webhook-signature']).split(' ').includes(standard);
}
