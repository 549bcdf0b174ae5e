// @ts-check
// Sends files.
import { ApiError, currentToken } from "./graphql.js";
import { endSession } from "./session.js";

/** What pictures may be. */
export const PICTURE_TYPES = "image/jpeg,image/png,image/webp";
/** Larger pictures are made smaller before they are sent, in bytes. */
const LARGE = 1_500_000;
/** The longest side of a picture that is made smaller, in pixels. */
const SIDE = 2_400;

/** Sends a file and returns the answer. `onShare` is called with the share of it that was sent.
 * @param {string} address
 * @param {Blob} file
 * @param {(share: number) => void} [onShare]
 * @returns {Promise<any>} */
export async function sendFile(address, file, onShare) {
  const token = await currentToken();
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("authorization", `Bearer ${token}`);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => onShare?.(total ? loaded / total : 0);
    request.onerror = () => fail(new ApiError("The file could not be sent. Are you online?", "OFFLINE", true));
    request.onload = () => {
      if (request.status === 201) return done(request.response);
      const { message = "The file was not received.", extensions } = request.response?.errors?.[0] ?? {};
      if (request.status === 401) endSession("The token is not valid any more.");
      return fail(new ApiError(message, extensions?.code ?? "INTERNAL", extensions?.retryable ?? false));
    };
    request.send(file);
  });
}

/** Sends a picture; a large one is made smaller first.
 * @param {File} file
 * @param {(text: string) => void} say is called with what is being done
 * @returns {Promise<string>} its address */
export async function sendPicture(file, say) {
  const sent = file.size > LARGE ? await smaller(file) : file;
  const { url } = await sendFile("/pictures", sent, (share) => say(`Sending ${file.name}, ${Math.floor(share * 100)}%`));
  return url;
}

/** A picture with fewer pixels; the same if the browser cannot read it, which the service then says.
 * @param {File} file
 * @returns {Promise<Blob>} */
async function smaller(file) {
  try {
    const image = await createImageBitmap(file);
    const scale = Math.min(1, SIDE / Math.max(image.width, image.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(image.width * scale);
    canvas.height = Math.round(image.height * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    image.close();
    const type = file.type === "image/jpeg" ? "image/jpeg" : "image/webp";
    const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ done) => canvas.toBlob(done, type, 0.86));
    return blob && blob.size < file.size ? blob : file;
  } catch {
    return file;
  }
}
