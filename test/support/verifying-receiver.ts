/**
 * The dashboard's verification code, run as described in its first lines, and a real Darkroom that delivers to it:
 * each language's test file defines how its receiver is started, and everything else is the same for all of them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';
import { reservePort } from './reserve-port.ts';
import type { TestDeliveryResultSchema } from '@darkroom/api/tasks/webhook-key';
import type { Static } from 'typebox';
import { startAlteringRelay } from './altering-relay.ts';
import type { AlteringRelay } from './altering-relay.ts';
import { startDarkroom } from './darkroom.ts';
import type { Darkroom, TestAccount } from './darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { RECEIVER_SECRET, VERIFICATION_CASES } from './verification-cases.ts';
import type { VerificationCase } from './verification-cases.ts';

/** The settings that a receiver is started with. */
export interface ReceiverSetting {
  /** The directory with its code, under the name in the code's first lines. */
  readonly directory: string;
  /** The secret that it knows. */
  readonly secret: string;
  readonly port: number;
}

export interface RunningReceiver {
  /** Its whole output. */
  said(): string;
  stop(): Promise<void>;
}

interface ReceiverToTest {
  /** Why it cannot be run here. */
  readonly skip?: string | false;
  /** The code, as in the dashboard: `receiver.js`. */
  readonly source: string;
  /** Its name in the code's first lines; default: the same. */
  readonly program?: string;
  /** Starts it; it may not listen yet. */
  start(setting: ReceiverSetting): Promise<RunningReceiver>;
}

const KEY_PATH = '/v1/account/webhook-key';
const DIRECTORY = 'packages/dashboard/src/pages/webhooks/verification';
const HOW = { true: 'accepts', false: 'rejects' } as const;

/** Starts a receiver that is a program of its own, in its directory and with its variables. */
export function startReceiverProgram(
  { directory, secret, port }: ReceiverSetting,
  [command = '', ...args]: readonly string[],
): RunningReceiver {
  const child = spawn(command, args, {
    cwd: directory,
    env: { ...process.env, DARKROOM_WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: some commands run the receiver as a child of theirs.
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.once('error', (error) => (said += error.message));
  const closed = once(child, 'close').catch(() => undefined);
  return {
    said: () => said,
    async stop() {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
      await closed;
    },
  };
}

/** Registers the tests of one language. */
export function describeReceiver(
  language: string,
  { skip = false, source, program = source, start }: ReceiverToTest,
): void {
  describe(`the receiver in ${language}`, { skip, timeout: 600_000 }, () => {
    let directory: string;
    let receiver: RunningReceiver | undefined;
    let relay: AlteringRelay;
    let directUrl: string;
    let darkroom: Darkroom;
    let senders: Readonly<Record<VerificationCase['sender'], TestAccount>>;
    /** The tasks that it accepted. */
    const taken = new Set<string>();
    before(async () => {
      directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-receiver-'));
      await copyFile(packageFile(`${DIRECTORY}/${source}`), path.join(directory, program));
      const port = await reservePort();
      directUrl = `http://127.0.0.1:${port}`;
      relay = await startAlteringRelay(port);
      darkroom = await startDarkroom({ workers: 0, environment: { EGRESS_ALLOW: `${relay.url},${directUrl}` } });
      senders = {
        known: await accountWith(RECEIVER_SECRET),
        stranger: await accountWith('a secret of somebody else, ü too'),
        keyless: await darkroom.createAccount(),
      };
      receiver = await start({ directory, secret: RECEIVER_SECRET, port });
      await waitFor(
        () => `it listens; it said: ${receiver?.said() ?? ''}`,
        () =>
          fetch(directUrl).then(
            () => true,
            () => false,
          ),
      );
    });
    after(async () => {
      await receiver?.stop();
      relay?.stop();
      await darkroom?.stop();
      await rm(directory, { recursive: true, force: true });
    });

    async function accountWith(secret: string): Promise<TestAccount> {
      const account = await darkroom.createAccount();
      assert.equal((await account.client.send('PUT', KEY_PATH, { secret })).status, 200);
      return account;
    }

    async function sendTest(sender: TestAccount, url: string): Promise<Static<typeof TestDeliveryResultSchema>> {
      const answer = await sender.client.send('POST', `${KEY_PATH}/test`, { url });
      return answer.body.data as unknown as Static<typeof TestDeliveryResultSchema>;
    }

    /** Sends a test delivery, and checks Darkroom's report and the receiver's output against what is expected. */
    async function deliver({
      sender,
      isAccepted,
      alter = (delivery) => delivery,
    }: Omit<VerificationCase, 'what'>): Promise<void> {
      relay.alter = alter;
      relay.last = undefined;
      const { status, delivered } = await sendTest(senders[sender], relay.url);
      const sent = (relay.last as AlteringRelay['last']) ?? assert.fail('nothing was sent');
      assert.deepEqual([status, delivered], isAccepted ? [204, true] : [401, false], receiver?.said());
      if (!isAccepted) return;
      const { taskId } = JSON.parse(sent.body.toString('utf8')) as { readonly taskId: string };
      taken.add(taskId);
      await waitFor(`the receiver reports ${taskId}`, () => reportedTasks().has(taskId));
    }

    const reportedTasks = (): ReadonlySet<string> =>
      new Set([...(receiver?.said().matchAll(/(tk-svc-\w+) success/g) ?? [])].map(([, taskId = '']) => taskId));

    it('accepts what Darkroom sends directly', async () => {
      const { delivered } = await sendTest(senders.known, directUrl);
      assert.ok(delivered, receiver?.said());
      await waitFor('the receiver reports the test delivery', () => reportedTasks().size === 1);
      for (const taskId of reportedTasks()) taken.add(taskId);
    });

    for (const each of VERIFICATION_CASES) {
      it(`${HOW[`${each.isAccepted}`]} ${each.what}`, () => deliver(each));
    }

    it('accepts signatures of the previous key during a rotation, until that expires', async () => {
      const rotate = async (): Promise<void> => {
        assert.equal((await senders.known.client.send('POST', `${KEY_PATH}/rotate`)).status, 200);
      };
      await rotate();
      await deliver({ sender: 'known', isAccepted: true });
      await rotate();
      await deliver({ sender: 'known', isAccepted: false });
    });

    it('keeps running, and reports only the tasks that it accepted', async () => {
      senders = { ...senders, known: await accountWith(RECEIVER_SECRET) };
      await deliver({ sender: 'known', isAccepted: true });
      assert.deepEqual(reportedTasks(), taken);
    });
  });
}
