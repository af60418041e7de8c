/**
 * What an api or a worker does about the sandbox of its media children before it takes work: finds out once how well this
 * machine isolates them, says so in the log and in a metric, and does not start where that is required and not the case.
 */
import { ConfigurationError } from '../config/environment.ts';
import { ISOLATIONS, findMediaSandbox, isolationsOf } from '../media/sandbox.ts';
import type { MediaSandbox } from '../media/sandbox.ts';
import type { Foundation } from './foundation.ts';

/**
 * @param find what finds the sandbox out; another than this machine's for tests.
 * @throws {ConfigurationError} `MEDIA_SANDBOX` is `required`, and something is not isolated.
 */
export async function prepareMediaSandbox(
  {
    config,
    logger,
    metrics,
  }: Pick<Foundation, 'logger'> & {
    readonly config: Pick<Foundation['config'], 'requiresMediaSandbox'>;
    readonly metrics: Pick<Foundation['metrics'], 'media'>;
  },
  find: () => Promise<MediaSandbox> = findMediaSandbox,
): Promise<void> {
  const sandbox = await find();
  const isolated = isolationsOf(sandbox);
  const missing = ISOLATIONS.filter((isolation) => !isolated.includes(isolation));
  for (const isolation of ISOLATIONS) metrics.media.isolation(isolation, isolated.includes(isolation));
  const { confinement, reasons } = sandbox;
  if (missing.length === 0) {
    logger.info({ confinement, isolated }, 'media of others is read in a sandbox');
    return;
  }
  if (config.requiresMediaSandbox) {
    throw new ConfigurationError([
      `MEDIA_SANDBOX is required, and this machine does not isolate media processes by ${missing.join(', ')} ` +
        `(${reasons.join('; ')}). Allow user namespaces, or start with MEDIA_SANDBOX=auto: docs/operations/secure.md, "Media sandbox".`,
    ]);
  }
  logger.warn({ confinement, isolated, missing, reasons }, 'media of others is read without a full sandbox');
}
