/**
 * `npm run test:containers`: the container files, tested with a real engine. Builds the base images if they have to
 * be built, builds our image, starts docker-compose.yml, and checks what a user would do with it
 * (test/containers/checks); then upgrades an installation of the last release. Exits with 0 if everything held, 1 if
 * something did not, and 2 if it cannot be run here.
 *
 * Arguments: `installation`, `upgrade`; default: both.
 */
import { makeBaseImages } from './base-images.ts';
import { cleanUp, report, runCampaign, toUndo } from './campaign.ts';
import { CHECKS } from './checks.ts';
import type { CheckContext } from './checks.ts';
import { ContainerClient } from './client.ts';
import { obtainEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { obtainLastRelease } from './last-release.ts';
import { RECEIVER, removeReceiver, startReceiver } from './receiver.ts';
import { CannotRunError, say, seconds } from './run.ts';
import { buildImage, findCompose, prepareStack, requireFreeNetworks } from './stack.ts';
import type { Stack } from './stack.ts';
import { chooseTemporalUiLogin } from './temporal-ui-login.ts';
import type { TemporalUiLogin } from './temporal-ui-login.ts';
import { upgradeLastRelease } from './upgrade.ts';

/** What every part needs. */
interface Prepared {
  readonly engine: Engine;
  readonly images: Readonly<Record<string, string>>;
  readonly login: TemporalUiLogin;
}

/** Each returns how many of its checks failed. */
const PARTS: Readonly<Record<string, (prepared: Prepared) => Promise<number>>> = {
  installation: checkInstallation,
  upgrade: checkUpgrade,
};

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
  if (unknown.length > 0) {
    throw new CannotRunError(`Unknown: ${unknown.join(', ')}. The parts are ${Object.keys(PARTS).join(' and ')}.`);
  }
  const begun = Date.now();
  const engine = await obtainEngine();
  toUndo.push(() => engine.stop());
  // Before the images, which take minutes.
  await findCompose(engine);
  const images = await makeBaseImages(engine);
  await buildImage(engine, images);
  const login = await chooseTemporalUiLogin(engine, images['CADDY_IMAGE'] ?? '');

  let failed = 0;
  for (const [name, check] of Object.entries(PARTS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const partBegun = Date.now();
    const failedHere = await check({ engine, images, login });
    failed += failedHere;
    await cleanUp(1);
    say(`${name}: ${failedHere} violations in ${seconds(Date.now() - partBegun)}.`);
  }
  say(`${failed} violations, altogether ${seconds(Date.now() - begun)}.`);
  return failed === 0 ? 0 : 1;
}

/** Removes leftovers of an interrupted run too. */
async function prepare({ engine, images, login }: Prepared): Promise<Stack> {
  const stack = await prepareStack(engine, {
    ...images,
    ...login.variables,
    EGRESS_ALLOW: RECEIVER.egressAllow,
    EGRESS_PORTS: RECEIVER.egressPorts,
    UPSTREAM_OPENAI_COMPATIBLE_URL: RECEIVER.transcriberUrl,
  });
  toUndo.push(() => stack.remove());
  await removeReceiver(engine);
  await stack.compose('down', '--volumes', '--remove-orphans');
  await requireFreeNetworks();
  return stack;
}

async function checkInstallation(prepared: Prepared): Promise<number> {
  const stack = await prepare(prepared);
  const begun = Date.now();
  say('Starting docker-compose.yml …');
  await stack.compose('up', '--detach', '--no-build');
  const client = await waitForReady(stack);
  toUndo.push(() => client.close());
  say(`Ready after ${seconds(Date.now() - begun)}.`);
  const receiver = await startReceiver(prepared.engine);
  toUndo.push(() => receiver.remove());
  const context: CheckContext = { ...prepared, stack, client, receiver };

  let failed = 0;
  for (const { name, check } of CHECKS)
    failed += await report(
      name,
      () => check(context),
      () => showLogs(stack),
    );
  return failed;
}

async function checkUpgrade(prepared: Prepared): Promise<number> {
  const { engine, images } = prepared;
  const release = await obtainLastRelease(engine, images);
  toUndo.push(() => release.remove());
  const stack = await prepare(prepared);
  return report(
    `an installation of ${release.version} is upgraded while tasks are in progress: none is lost or charged twice`,
    () => upgradeLastRelease({ engine, stack, release, waitForReady: () => waitForReady(stack) }),
    () => showLogs(stack),
  );
}

const READY_TIMEOUT_MS = 10 * 60_000;

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

await runCampaign(main);
