/** What a task made, small: its picture, or a sign of what it is. */
import { IconAlertTriangle, IconHourglass, IconMusic, IconMovie, IconPhoto, IconPhotoOff } from '@tabler/icons-react';
import { useState } from 'react';
import { isOver } from '../../api/tasks.ts';
import type { TaskRow } from '../../api/tasks.ts';
import styles from './task-list.module.css';

/** @param isMoving while one scrolls fast nothing is fetched that is gone in a moment. */
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
