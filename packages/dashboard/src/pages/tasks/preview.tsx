/** The output of a task, small: its image, or an icon of its type. */
import { IconAlertTriangle, IconHourglass, IconMusic, IconMovie, IconPhoto, IconPhotoOff } from '@tabler/icons-react';
import { useState } from 'react';
import { isOver } from '../../api/tasks.ts';
import type { TaskRow } from '../../api/tasks.ts';
import styles from './task-list.module.css';

/** @param isMoving during fast scrolling nothing is fetched for rows that are about to disappear. */
export function Preview({ row, isMoving }: { readonly row: TaskRow; readonly isMoving: boolean }) {
  const [failedUrl, setFailedUrl] = useState<string>();
  const { picture } = row;
  const isPicture = picture?.mimeType.startsWith('image/') === true && picture.url !== failedUrl;
  return (
    <div className={styles['preview']}>
      {isPicture && !isMoving ? (
        <img src={picture.url} alt="" loading="lazy" decoding="async" onError={() => setFailedUrl(picture.url)} />
      ) : (
        <Sign row={row} isPicture={isPicture} />
      )}
    </div>
  );
}

function Sign({ row, isPicture }: { readonly row: TaskRow; readonly isPicture: boolean }) {
  const size = 20;
  if (row.status === 'fail') return <IconAlertTriangle size={size} aria-hidden />;
  if (!isOver(row.status)) return <IconHourglass size={size} aria-hidden />;
  if (isPicture) return <IconPhoto size={size} aria-hidden />;
  const mimeType = row.picture?.mimeType ?? '';
  if (mimeType.startsWith('video/')) return <IconMovie size={size} aria-hidden />;
  if (mimeType.startsWith('audio/')) return <IconMusic size={size} aria-hidden />;
  return <IconPhotoOff size={size} aria-hidden />;
}
