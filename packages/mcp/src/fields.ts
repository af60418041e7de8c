/**
 * Arguments that several tools take, described for the language model that fills them in. Their limits are the API's.
 */
import { z } from 'zod';

export const modelField = z
  .string()
  .min(1)
  .max(300)
  .describe("The model's id exactly as list_models gives it, for example `darkroom/scene`.");

export const taskInputField = z
  .record(z.string(), z.unknown())
  .describe(
    "What the model is to make: an object with exactly the fields of the model's `input_schema` (get_model); its `examples` show it.",
  );

export const taskIdField = z
  .string()
  .regex(/^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/)
  .describe('The `taskId` that generate or list_tasks gave: `tk-svc-` and 26 characters.');

export const mediaField = z
  .enum(['none', 'preview', 'full'])
  .default('preview')
  .describe(
    'Which pictures come with the answer. `preview`: small copies, of a video its thumbnail. `full`: originals where they fit (all pictures of an answer may have 700 kB in Base64), small copies where they do not. `none`: none. The links to the originals always come.',
  );

export type MediaChoice = z.infer<typeof mediaField>;

/**
 * Clients end a call after 60 s by default, many of them regardless of progress: an answer sent later is lost, and
 * with it the task's id.
 */
export const ANSWER_WITHIN_MS = 55_000;
/** A longer wait is shortened, so that there is time left for the last poll and the images. */
export const LONGEST_WAIT_SECONDS = 45;
/** What callers may request, which is older than that limit. */
const LONGEST_WISH_SECONDS = 60;

/** @param seconds the default wait. */
export function waitField(seconds: number): z.ZodDefault<z.ZodInt> {
  return z
    .int()
    .min(0)
    .max(LONGEST_WISH_SECONDS)
    .default(seconds)
    .describe(
      `How many seconds to wait for the task to be over before answering, ${LONGEST_WAIT_SECONDS} at most; 0 answers at once.`,
    );
}
