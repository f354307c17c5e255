/* Converts a canvas to the input of the network, and its output to text. */

const INK = 128; /* pixels darker than this count as written */
const MARGIN = 6;
const STEP = 32; /* widths are multiples of this */

/** The written part of the canvas, scaled to the height of the network's input, in three planes from -1 to 1; null if
 * nothing is written. The width of the image may vary: the same compiled network reads short and long lines. */
export function prepare(canvas, drawing, [, planes, height]) {
  const box = written(drawing.getImageData(0, 0, canvas.width, canvas.height));
  if (box === null) {
    return null;
  }
  const scaled = Math.max(1, Math.round((box.width * height) / box.height));
  const width = STEP * Math.ceil(scaled / STEP);
  const small = new OffscreenCanvas(width, height).getContext("2d");
  small.imageSmoothingQuality = "high";
  small.fillStyle = "white";
  small.fillRect(0, 0, width, height);
  small.drawImage(canvas, box.x, box.y, box.width, box.height, 0, 0, scaled, height);
  const pixels = small.getImageData(0, 0, width, height).data;
  const image = new Float32Array(planes * height * width);
  for (let plane = 0; plane < planes; plane++) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const byte = pixels[4 * (y * width + x) + (planes - 1 - plane)]; // blue first
        image[(plane * height + y) * width + x] = byte / 127.5 - 1;
      }
    }
  }
  return { data: image, shape: [1, planes, height, width] };
}

function written({ data, width, height }) {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      if (Math.min(data[at], data[at + 1], data[at + 2]) < INK) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
    }
  }
  if (right < 0) {
    return null;
  }
  const [x, y] = [Math.max(0, left - MARGIN), Math.max(0, top - MARGIN)];
  return { x, y, width: Math.min(width, right + MARGIN) - x, height: Math.min(height, bottom + MARGIN) - y };
}

/** The text for scores [1, steps, classes]: the most likely class of each step, where a repeated class counts only
 * once, and class 0 means no character. `confidence` is the mean score of the characters. */
export function decode({ data, shape: [, steps, classes] }, characters) {
  let [text, before, sum, count] = ["", 0, 0, 0];
  for (let step = 0; step < steps; step++) {
    const scores = data.subarray(step * classes, (step + 1) * classes);
    const best = scores.reduce((likeliest, score, k) => (score > scores[likeliest] ? k : likeliest), 0);
    if (best !== 0 && best !== before) {
      text += characters[best - 1];
      sum += scores[best];
      count++;
    }
    before = best;
  }
  return { text, confidence: count ? sum / count : 0 };
}
