// Writes the files of a tar archive, as Python's tarfile makes it, into the file system of Pyodide.

const HEADER = 512;

export function unpack(FS, bytes, top) {
  const read = new TextDecoder();
  const text = (from, length) => read.decode(bytes.subarray(from, from + length)).split("\0")[0];
  const made = new Set();
  for (let at = 0; at + HEADER <= bytes.length && bytes[at]; ) {
    const prefix = text(at + 345, 155);
    const path = top + "/" + (prefix ? prefix + "/" : "") + text(at, 100);
    const size = parseInt(text(at + 124, 12), 8);
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!made.has(folder)) {
      FS.mkdirTree(folder);
      made.add(folder);
    }
    // The bytes are not copied: all files are views of one array.
    FS.writeFile(path, bytes.subarray(at + HEADER, at + HEADER + size), { canOwn: true });
    at += HEADER + Math.ceil(size / HEADER) * HEADER;
  }
}
