/**
 * The guarded way out, counted: how each exchange ended (src/egress/ knows nothing of metrics). A download is over when
 * its bytes are.
 */
import { EgressError } from '../egress/egress-error.ts';
import type { Egress } from '../egress/guarded-client.ts';
import type { EgressOutcome, OutgoingMetrics } from '../telemetry/metrics-outgoing.ts';

/** The same client, with its exchanges counted. */
export function observeEgress(egress: Egress, metrics: OutgoingMetrics): Egress {
  return {
    close: () => egress.close(),
    findObstacle: (url, options) => egress.findObstacle(url, options),

    async post(url, options) {
      try {
        const answer = await egress.post(url, options);
        metrics.egressEnded('post', 'ok');
        return answer;
      } catch (error) {
        metrics.egressEnded('post', outcomeOf(error));
        throw error;
      }
    },

    async download(url, options) {
      try {
        const answer = await egress.download(url, options);
        const { body } = answer;
        body.once('close', () => {
          const outcome = body.errored !== null ? outcomeOf(body.errored) : body.readableEnded ? 'ok' : 'stopped';
          metrics.egressEnded('download', outcome);
        });
        return answer;
      } catch (error) {
        metrics.egressEnded('download', outcomeOf(error));
        throw error;
      }
    },
  };
}

/** What is no error of the client was the caller's own wish to stop. */
function outcomeOf(error: unknown): EgressOutcome {
  if (!(error instanceof EgressError)) return 'stopped';
  return error.isBarred ? 'blocked' : error.kind;
}
