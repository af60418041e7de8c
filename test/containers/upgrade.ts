/**
 * An installation of the last release is upgraded as docs/operations/backup-and-upgrade.md says, `down` with its files and `up` with
 * ours, while tasks are in progress: what it made is still there, what it began ends, and its clients go on.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { admin } from './admin.ts';
import type { ContainerClient } from './client.ts';
import type { Engine } from './engine.ts';
import type { LastRelease } from './last-release.ts';
import { startReceiver, WEBHOOK_SECRET } from './receiver.ts';
import { ownFiles } from './stack.ts';
import type { Stack } from './stack.ts';
import { startWork, verifyWork, waitUntilInProgress } from './work.ts';
import type { Work } from './work.ts';

export interface Upgrade {
  readonly engine: Engine;
  readonly stack: Stack;
  readonly release: LastRelease;
  /** Waits until the stack answers. */
  waitForReady(): Promise<ContainerClient>;
}

/** @returns what was measured. @throws {Error} something was lost, failed or was charged twice. */
export async function upgradeLastRelease({ engine, stack, release, waitForReady }: Upgrade): Promise<string> {
  await stack.replaceFiles(release.files);
  await stack.compose('up', '--detach', '--no-build');
  const client = await waitForReady();
  const receiver = await startReceiver(engine);
  try {
    await admin(stack, 'accounts', 'create', '--name', 'first', '--usd', '50');
    client.key = ((await admin(stack, 'keys', 'create')) as { apiKey: string }).apiKey;
    await client.ask('PUT', '/v1/account/webhook-key', { secret: WEBHOOK_SECRET });
    const done = await startWork(client, 'done');
    await verifyWork({ client, engine, stack }, done);
    const digests = await digestsOf(client, done);

    const work = await startWork(client, 'in-progress');
    const inProgress = await waitUntilInProgress(client, work);
    await receiver.disconnect();
    const begun = Date.now();
    await stack.compose('down');
    await stack.replaceFiles(await ownFiles());
    await Promise.all([stack.compose('up', '--detach', '--no-build'), receiver.connect()]);
    await client.waitForReady();
    const awayMs = Date.now() - begun;

    await verifyWork({ client, engine, stack }, [...done, ...work]);
    assert.deepEqual(await digestsOf(client, done), digests);
    await verifyWork({ client, engine, stack }, await startWork(client, 'after'));
    return `${inProgress} in progress, away for ${(awayMs / 1000).toFixed(1)} s`;
  } finally {
    await receiver.remove();
    await client.close();
  }
}

/** Of the outputs. */
function digestsOf(client: ContainerClient, work: readonly Work[]): Promise<readonly string[]> {
  return Promise.all(
    work.map(async ({ taskId }) => {
      const bytes = await client.download(await client.readPatiently(taskId));
      return createHash('sha256').update(bytes).digest('hex');
    }),
  );
}
