/**
 * `npm run test:containers`: the container files, tested with a real engine. Builds the base images if they have to
 * be built, builds our image, starts docker-compose.yml, and checks what a user would do with it
 * (test/containers/checks). Exits with 0 if everything held, 1 if something did not, and 2 if it cannot be run here.
 */
import { makeBaseImages } from './base-images.ts';
import { CHECKS } from './checks.ts';
import { ContainerClient } from './client.ts';
import { obtainEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { CannotRunError, say } from './run.ts';
import { IMAGE, prepareStack } from './stack.ts';
import type { Stack } from './stack.ts';
import { PACKAGE_ROOT } from '../../src/config/package-root.ts';
import { RECEIVER } from './receiver.ts';
import { chooseTemporalUiLogin } from './temporal-ui-login.ts';

/** What is undone at the end, in reverse order; emptied as it is done. */
const toUndo: (() => Promise<void>)[] = [];

async function main(): Promise<number> {
  const begun = Date.now();
  const engine = await obtainEngine();
  toUndo.push(() => engine.stop());
  const images = await makeBaseImages(engine);

  const buildBegun = Date.now();
  say('Building our image …');
  const node = `NODE_IMAGE=${images['NODE_IMAGE']}`;
  await engine.docker(['build', '--build-arg', node, '--tag', IMAGE, PACKAGE_ROOT]);
  const buildMs = Date.now() - buildBegun;

  const login = await chooseTemporalUiLogin(engine, images['CADDY_IMAGE'] ?? '');
  const stack = await prepareStack(engine, { ...images, ...login.variables, EGRESS_ALLOW: RECEIVER.egressAllow });
  toUndo.push(() => stack.remove());
  // Leftovers of an interrupted run.
  await stack.compose('down', '--volumes', '--remove-orphans');
  const upBegun = Date.now();
  say('Starting docker-compose.yml …');
  await stack.compose('up', '--detach', '--no-build');
  const client = await waitForReady(stack);
  toUndo.push(() => client.close());
  const readyMs = Date.now() - upBegun;
  say(`Ready after ${seconds(readyMs)}.`);

  let failed = 0;
  for (const { name, check } of CHECKS) {
    const checkBegun = Date.now();
    try {
      const found = await check({ engine, stack, client, login });
      say(`ok      ${name} (${seconds(Date.now() - checkBegun)})${found === undefined ? '' : `: ${found}`}`);
    } catch (error) {
      failed++;
      say(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (failed > 0) await showLogs(stack);
  say(
    `${CHECKS.length - failed} of ${CHECKS.length} held; image ${await sizeOf(engine)} MB, built in ${seconds(buildMs)}, ` +
      `ready after ${seconds(readyMs)}, altogether ${seconds(Date.now() - begun)}.`,
  );
  return failed === 0 ? 0 : 1;
}

const READY_TIMEOUT_MS = 5 * 60_000;

/** Compose waits for a service's dependencies; the proxy, which is last, has to respond. */
async function waitForReady(stack: Stack): Promise<ContainerClient> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      const authority = await stack.compose('exec', '-T', 'proxy', 'cat', '/data/caddy/pki/authorities/local/root.crt');
      const client = new ContainerClient(`https://localhost:${stack.httpsPort}`, authority);
      if ((await client.send('GET', '/readyz')).status === 200) return client;
      await client.close();
    } catch (error) {
      if (Date.now() > deadline) {
        await showLogs(stack);
        throw error;
      }
    }
    if (Date.now() > deadline) throw new Error('the stack does not become ready');
  }
}

async function showLogs(stack: Stack): Promise<void> {
  process.stderr.write(`${await stack.compose('ps')}\n${await stack.compose('logs', '--tail', '15', '--no-color')}\n`);
}

/** In megabytes of a million bytes. */
async function sizeOf(engine: Engine): Promise<string> {
  return (Number(await engine.docker(['image', 'inspect', '--format', '{{.Size}}', IMAGE])) / 1e6).toFixed(0);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

async function cleanUp(): Promise<void> {
  for (let undo = toUndo.pop(); undo !== undefined; undo = toUndo.pop()) {
    await undo().catch((error: unknown) => {
      say(`Not cleaned up: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    });
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say('Interrupted: cleaning up …');
    void cleanUp().finally(() => process.exit(130));
  });
}
try {
  process.exitCode = await main();
} catch (error) {
  say(error instanceof CannotRunError ? error.message : String(error instanceof Error ? error.stack : error));
  process.exitCode = error instanceof CannotRunError ? 2 : 1;
} finally {
  await cleanUp();
}
