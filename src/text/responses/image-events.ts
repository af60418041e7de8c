/**
 * The events of a call of the built-in tool `image_generation`: those of one step while it is generated, and all of them
 * when its stream is sent again. Their order is OpenAI's: the item is added, in progress and generating; it is completed,
 * unless it failed, and then done, with the image. No model here has partial images.
 */
import type { ImageStep } from '../events.ts';

type Members = Readonly<Record<string, unknown>>;

interface ImageEvent extends Members {
  readonly type: string;
}

/** @param item with its id, as it is after the step. */
export function* imageEvents(
  step: Pick<ImageStep, 'type'>,
  item: Members,
  output_index: number,
): Generator<ImageEvent> {
  const where = { item_id: item['id'], output_index };
  switch (step.type) {
    case 'begun':
      yield { type: 'response.output_item.added', output_index, item };
      yield { type: 'response.image_generation_call.in_progress', ...where };
      return;
    case 'generating':
      yield { type: 'response.image_generation_call.generating', ...where, task_id: item['task_id'] };
      return;
    case 'done':
      if (item['status'] !== 'failed') {
        yield { type: 'response.image_generation_call.completed', ...where };
      }
      yield { type: 'response.output_item.done', output_index, item };
  }
}
