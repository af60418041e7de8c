/** Whether an image is really drawn, and not only its frame. */
import type { Locator } from 'playwright-core';
import { until } from '@darkroom/testing/until';

/** Waits until it has pixels. @throws {Error} it never gets any. */
export async function isPictureDrawn(picture: Locator): Promise<void> {
  await until('the picture is drawn', async () =>
    picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0),
  );
}
