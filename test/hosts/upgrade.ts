/**
 * A rolling upgrade, as docs/operations/backup-and-upgrade.md describes it under "Releases side by side": workers of
 * the new release are started beside those of the old one, host by host, and promoted; the old ones are stopped when
 * their tasks have ended; then the apis are restarted, one after the other.
 */
import type { Installation } from './installation.ts';
import { FIRST_BUILD_ID, isApi, roleNames } from './roles.ts';
import type { Release } from './roles.ts';

/** @param report called with each step when it is done. */
export async function upgrade(
  { install, part, versions }: Installation,
  release: Release,
  report: (step: string) => void,
): Promise<void> {
  const former = [];
  for (const name of roleNames().filter((each) => !isApi(each))) {
    former.push(await install(name, release));
    await part(name).start();
    report(`${name} runs ${release.buildId} as well`);
  }
  await versions.promote(release.buildId);
  report(`${release.buildId} is current`);
  await versions.waitForDrained(FIRST_BUILD_ID);
  report(`${FIRST_BUILD_ID} is drained`);
  for (const old of former) {
    await old.stop();
    report(`${old.name} has stopped ${FIRST_BUILD_ID}`);
  }
  for (const name of roleNames().filter(isApi)) {
    await part(name).stop();
    await install(name, release);
    await part(name).start();
    report(`${name} runs ${release.buildId}`);
  }
}
