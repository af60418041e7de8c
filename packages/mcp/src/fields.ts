/**
 * Arguments that several tools take, described for the language model that fills them in. Their limits are the API's.
 */
import { z } from 'zod';

export const modelField = z
  .string()
  .min(1)
  .max(300)
  .describe("The model's id exactly as listed by list_models, for example `darkroom/scene`.");

export const taskInputField = z
  .record(z.string(), z.unknown())
  .describe(
    "The input of the model: an object with exactly the fields of the model's `input_schema` (get_model); see its `examples`.",
  );

export const taskIdField = z
  .string()
  .regex(/^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/)
  .describe('The `taskId` from generate or list_tasks: `tk-svc-` and 26 characters.');

export const mediaField = z
  .enum(['none', 'preview', 'full'])
  .default('preview')
  .describe(
    'Which images the result contains. `preview`: small copies, and the thumbnail of a video. `full`: originals if they fit (all images of a result together have at most 700 kB in Base64), otherwise small copies. `none`: no images. The links to the originals are always included.',
  );

export type MediaChoice = z.infer<typeof mediaField>;

/**
 * Clients end a call after 60 s by default, many of them regardless of progress: an answer sent later is lost, and
 * with it the task's id.
 */
export const ANSWER_WITHIN_MS = 55_000;
/**
 * The longest wait in seconds. A longer one is shortened, so that there is time left for the last poll and the images.
 */
export const LONGEST_WAIT_SECONDS = 45;
/** The longest wait that callers may request, in seconds; this bound is older than the limit above. */
const LONGEST_WISH_SECONDS = 60;

/** @param seconds the default wait. */
export function waitField(seconds: number): z.ZodDefault<z.ZodInt> {
  return z
    .int()
    .min(0)
    .max(LONGEST_WISH_SECONDS)
    .default(seconds)
    .describe(`How many seconds to wait for the task to end, ${LONGEST_WAIT_SECONDS} at most; 0 returns at once.`);
}
