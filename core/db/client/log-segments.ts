/**
 * How long the embedded database's write-ahead log has grown since the last checkpoint. A PostgreSQL without other processes makes no
 * checkpoint of its own accord, whatever `max_wal_size` is: the log would grow for as long as something is written.
 */
import { isLog, type NodeFiles } from './power-cut.ts';

/** Wraps the file operations in place. @returns a function that counts the segments, of 16 MiB each, that were written since the last checkpoint */
export function countSegments({ stream_ops }: Pick<NodeFiles, 'stream_ops'>): () => number {
  const written = new Set<string>();
  const { write } = stream_ops;
  stream_ops.write = (stream, ...rest) => {
    if (isLog(stream)) written.add(stream.path);
    else if (stream.path.endsWith('/global/pg_control')) written.clear(); // a checkpoint is complete
    return write(stream, ...rest);
  };
  return () => written.size;
}
