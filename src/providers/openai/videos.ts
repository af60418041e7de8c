/**
 * Videos: a job that is created and polled, and whose content is fetched, below `{baseUrl}/videos`. Source: the
 * openai-openapi document (CreateVideoBody, VideoResource); self-hosted servers offer the same.
 *
 * Our name for the clip's length is `duration` (spec §2.5), the provider's is `seconds`, a string; the other fields are
 * the provider's own. The first image of the input becomes `input_reference`.
 */
import { extensionFor } from '@darkroom/media/media-types';
import { jobIdAt, textAt, valueAt } from '../json-answer.ts';
import { ProviderFailure, ProviderUnreachable } from '../provider.ts';
import type { GenerationRequest, JobState, Provider } from '../provider.ts';
import { createForm, textParts } from '../request-body.ts';
import type { RequestBody } from '../request-body.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import { failureReason, rejectionReason } from './conventions.ts';

const DONE = ['completed', 'succeeded'];
const OVER = [...DONE, 'failed', 'cancelled', 'canceled', 'expired'];

export function createVideos(calls: UpstreamCalls): Provider {
  return {
    protocol: 'openai',
    isSubmitRepeatable: false,
    worksWhileSubmitting: false,
    takesMediaAsFiles: true,
    download: calls.download,

    async submit(request, call) {
      return calls.submitJob(request, call, {
        path: '/videos',
        content: await formOf(request),
        rejectionReason,
        jobId: (answer) => jobIdAt(answer, 'id'),
      });
    },

    async poll(request, jobId, call) {
      const path = pathOf(jobId);
      const { status, json, retryAfterMs } = await calls.query(request, call, {
        method: 'GET',
        path,
        definiteStatuses: [404, 410],
      });
      if (status >= 400) throw new ProviderFailure('provider_error');
      const state = textAt(json, 'status');
      if (state === undefined) throw new ProviderUnreachable({ status, code: 'NO_STATE' }, { retryAfterMs });
      if (DONE.includes(state)) {
        const url = `${(request.upstream.baseUrl ?? '').replace(/\/+$/, '')}${path}/content`;
        return { kind: 'done', files: [{ from: 'url', url }] };
      }
      if (OVER.includes(state)) throw new ProviderFailure(failureReason(json));
      return running(json, retryAfterMs);
    },

    /**
     * "Delete" is the only way to stop one; it would remove the files of a finished video, so the state is polled
     * first.
     */
    async cancel(request, jobId, call) {
      const path = pathOf(jobId);
      const known = await calls.query(request, call, { method: 'GET', path, definiteStatuses: [404, 410] });
      if (known.status >= 400 || OVER.includes(textAt(known.json, 'status') ?? '')) return { outcome: 'too_late' };
      const { status } = await calls.query(request, call, {
        method: 'DELETE',
        path,
        isBodyOptional: true,
        definiteStatuses: [400, 404, 405, 409, 410, 422, 501],
      });
      if (status === 405 || status === 501) return { outcome: 'unsupported' };
      return { outcome: status >= 400 ? 'too_late' : 'cancelled' };
    },
  };
}

async function formOf({ upstream, input, media = new Map() }: GenerationRequest): Promise<RequestBody> {
  const mediaFields = new Set([...media.keys()].map((fieldPath) => fieldPath.split('.')[0] ?? ''));
  const { duration, ...fields } = { ...input, ...upstream.parameters };
  const isLength = typeof duration === 'number' || typeof duration === 'string';
  const seconds = isLength ? { seconds: `${duration}` } : {};
  const images = [...media.values()].slice(0, 1).map((file) => ({
    name: 'input_reference',
    file,
    fileName: `reference.${extensionFor(file.mimeType)}`,
  }));
  return createForm([...textParts({ ...fields, ...seconds, model: upstream.model }, mediaFields), ...images]);
}

function pathOf(jobId: string): string {
  return `/videos/${encodeURIComponent(jobId)}`;
}

/** "Approximate completion percentage." */
function running(json: unknown, pollAfterMs: number | undefined): JobState {
  const percent = valueAt(json, 'progress');
  const isKnown = typeof percent === 'number' && percent >= 0 && percent <= 100;
  return {
    kind: 'running',
    ...(isKnown ? { progress: percent / 100 } : {}),
    ...(pollAfterMs === undefined ? {} : { pollAfterMs }),
  };
}
