/**
 * Prepares the sandbox of the media child processes before an api or a worker takes work: detects once how well this
 * machine isolates them, reports it in the log and in a metric, and does not start if isolation is required but
 * incomplete.
 */
import { ConfigurationError } from '../config/environment.ts';
import { ISOLATIONS, findMediaSandbox, isolationsOf } from '@darkroom/media/sandbox';
import type { MediaSandbox } from '@darkroom/media/sandbox';
import type { Foundation } from './foundation.ts';

/**
 * @param find detects the sandbox; tests replace this machine's.
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
    logger.info({ confinement, isolated }, 'untrusted media is decoded in a sandbox');
    return;
  }
  if (config.requiresMediaSandbox) {
    throw new ConfigurationError([
      `MEDIA_SANDBOX is required, and this machine does not isolate media processes by ${missing.join(', ')} ` +
        `(${reasons.join('; ')}). Allow user namespaces, or start with MEDIA_SANDBOX=auto: docs/operations/secure.md, "Media sandbox".`,
    ]);
  }
  logger.warn({ confinement, isolated, missing, reasons }, 'untrusted media is decoded without a full sandbox');
}
