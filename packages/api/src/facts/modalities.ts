/** The modalities of models, as all packages name them. */

/** What the models of tasks make; a transcription is text made from audio or video. */
export const TASK_MODALITIES = ['image', 'video', 'audio', 'transcription'] as const;

export type TaskModality = (typeof TASK_MODALITIES)[number];

/** Those of all models; `text` is that of the models that are called without a task. */
export const MODALITIES = [...TASK_MODALITIES, 'text'] as const;

export type Modality = (typeof MODALITIES)[number];
